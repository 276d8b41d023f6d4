"""The digest of a plan covers what it says, and reading refuses what would make it lie."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from analysis.support import LOCK, Edit, Notebook, notebook
from hypothesis import given
from hypothesis import strategies as st

from benchlib.analysis.declarations import AnalysisLock, Library
from benchlib.analysis.plans import (
    canonical_plan,
    pin_plan,
    plan_from_bytes,
    read_pinned,
    read_plan,
)
from benchlib.errors import InputError

GOOD = notebook()

LITERALS = {
    "plan_good.ipynb": "2c88d03910023167577f8df4635aec548aa4c5ca4b212bdb41ce1dafd552f2bb",
    "plan_drift.ipynb": "d84aa4e3c6e83422df887d2345cfd5888199e1de0e0c386986e0b9a8f3aead3e",
    "plan_inserted_cell.ipynb": "0b3489d624002a7735cc176ac34ee6a0d34031107de09f2dca245d4077b9586e",
}


def digest(
    document: Notebook,
    *,
    lock: AnalysisLock = LOCK,
    indent: int | None = None,
    sort_keys: bool = False,
) -> str:
    data = json.dumps(document, indent=indent, sort_keys=sort_keys).encode()
    return plan_from_bytes(data, place="plan", lock=lock).plan_sha256


@pytest.mark.parametrize("name", LITERALS)
def test_the_digest_of_a_plan_is_the_same_on_every_machine(name: str) -> None:
    assert digest(notebook(name)) == LITERALS[name]


def test_the_same_plan_in_another_dress_has_the_same_digest() -> None:
    assert digest(notebook("plan_good_other_dress.ipynb")) == digest(GOOD)


def test_the_canonical_object_leaves_out_what_is_absent() -> None:
    plan = plan_from_bytes(json.dumps(GOOD).encode(), place="plan", lock=LOCK)
    content = json.loads(canonical_plan(plan.content))
    assert content["cells"][1] == {
        "kind": "code",
        "source": 'cohort: str = "demo"\nalpha_ppm: int = 50000',
        "role": "parameters",
    }
    assert content["cells"][3]["output"] == "outcome"
    assert content["libraries"] == [{"name": "pandas", "version": "3.1.1"}]


@given(
    indent=st.sampled_from([None, 1, 4]),
    sort=st.booleans(),
    line_ends=st.sampled_from(["\n", "\r\n", "\r"]),
    as_lists=st.booleans(),
    ids=st.lists(st.from_regex(r"\A[a-z0-9-]{1,20}\Z"), min_size=4, max_size=4),
    kernel=st.text(max_size=10),
    count=st.none() | st.integers(1, 999),
)
def test_dress_never_changes_a_digest(
    indent: int | None,
    sort: bool,
    line_ends: str,
    as_lists: bool,
    ids: list[str],
    kernel: str,
    count: int | None,
) -> None:
    document = copy.deepcopy(GOOD)
    document["metadata"]["kernelspec"] |= {"name": kernel, "display_name": kernel}
    document["metadata"]["papermill"] = {"start_time": kernel}
    for cell, name in zip(document["cells"], ids, strict=True):
        source = cell["source"].replace("\n", line_ends)
        cell |= {"id": name, "source": source.splitlines(keepends=True) if as_lists else source}
        cell["metadata"]["collapsed"] = True
        if cell["cell_type"] == "code":
            cell |= {"execution_count": count, "outputs": [{"output_type": "stream"}]}
    assert digest(document, indent=indent, sort_keys=sort) == digest(GOOD)


@given(data=st.data())
def test_one_character_more_in_any_cell_is_another_plan(data: st.DataObject) -> None:
    document = copy.deepcopy(GOOD)
    cell = data.draw(st.sampled_from(document["cells"]))
    character = data.draw(st.sampled_from(["x", " ", "\n", "é", "\u0430"]))
    cell["source"] += f"# {character}" if cell["cell_type"] == "code" else character
    if cell["metadata"].get("tags") == ["benchlib:table:outcome"]:
        cell["source"] = "\n" + cell["source"]
    assert digest(document) != digest(GOOD)


def edited(path: str, value: object) -> Edit:
    *parents, last = path.split("/")

    def change(document: Notebook) -> None:
        part: Any = document
        for name in parents:
            part = part[int(name) if name.isdecimal() else name]
        part[last] = value

    return change


OUTPUT = "metadata/benchlib/outputs/0"


@pytest.mark.parametrize(
    "change",
    [
        edited("cells/2/metadata/tags", ["benchlib:chart:a"]),
        edited("cells/1/source", 'cohort: str = "demo"\nalpha_ppm: int = 50001'),
        edited("cells/1/source", "cohort: int = 1\nalpha_ppm: int = 50000"),
        edited("metadata/benchlib/parameters", [{"name": "alpha_ppm", "minimum": 2}]),
        edited("metadata/benchlib/parameters", []),
        edited(f"{OUTPUT}/columns/1/name", "with_it"),
        edited(f"{OUTPUT}/columns/1/type", "text"),
        edited(f"{OUTPUT}/columns/1/nullable", True),
        edited(f"{OUTPUT}/columns/1/unit", "pairs"),
        edited(f"{OUTPUT}/order", ["challenge", "with_memory"]),
        edited(f"{OUTPUT}/status", "exploratory"),
        edited(f"{OUTPUT}/title", "Outcome"),
    ],
)
def test_what_a_plan_declares_is_part_of_it(change: Edit) -> None:
    document = copy.deepcopy(GOOD)
    change(document)
    assert digest(document) != digest(GOOD)


def test_the_order_of_cells_is_part_of_a_plan() -> None:
    document = copy.deepcopy(GOOD)
    remark = {"cell_type": "markdown", "id": "r", "metadata": {}, "source": "One."}
    one = copy.deepcopy(document)
    one["cells"] = [remark, *one["cells"]]
    document["cells"] = [document["cells"][0], remark, *document["cells"][1:]]
    assert digest(one) != digest(document)


@pytest.mark.parametrize(
    "lock",
    [
        LOCK.model_copy(update={"python": "3.12"}),
        LOCK.model_copy(update={"libraries": (Library(name="pandas", version="3.2.0"),)}),
        LOCK.model_copy(update={"libraries": ()}),
    ],
)
def test_another_library_is_another_analysis(lock: AnalysisLock) -> None:
    assert digest(GOOD, lock=lock) != digest(GOOD)


BAD = [
    ("plan_skip_tag.ipynb", "cell 3 of 4: tag", "skip-execution"),
    ("plan_exit_zero.ipynb", "cell 4 of 5: line 2, column 1", "sys.exit"),
    ("plan_derived_parameter.ipynb", "line 3, column 1", "level: int"),
    ("plan_two_parameter_cells.ipynb", "parameters", "['cell 2', 'cell 3']"),
    ("plan_undeclared_table.ipynb", "cell 5 of 5", '[("undeclared", 3)]'),
    ("plan_clock_and_chance.ipynb", "cell 3 of 4: line 1, column 1", "import random"),
    ("plan_hidden_direction.ipynb", "cell 3 of 4: line 1, column 44", "RIGHT-TO-LEFT OVERRIDE"),
]


@pytest.mark.parametrize(("name", "field", "found"), BAD)
def test_a_plan_that_would_lie_is_refused(name: str, field: str, found: str) -> None:
    with pytest.raises(InputError) as refused:
        digest(notebook(name))
    findings = [refused.value, *refused.value.also]
    assert any(field in one.field and found in one.found for one in findings), str(refused.value)


def test_a_hidden_character_is_shown_as_an_escape() -> None:
    with pytest.raises(InputError) as refused:
        digest(notebook("plan_hidden_direction.ipynb"))
    assert "\u202e" not in str(refused.value)
    assert "\\u202e" in str(refused.value)


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("%matplotlib inline", "%matplotlib"),
        ("!ls", "!ls"),
        ("x?", "x?"),
        ("%%bash\nls", "%%bash"),
        ("exit()", "exit"),
        ("quit()", "quit"),
        ("import os\nos._exit(0)", "os._exit"),
        ("from sys import exit as leave", "from sys import exit"),
        ("raise SystemExit", "SystemExit"),
        ("get_ipython()", "get_ipython"),
        ("input()", "input"),
        ("exec('1')", "exec"),
        ("eval('1')", "eval"),
        ("__import__('os')", "__import__"),
        ("from time import time", "from time"),
        ("import datetime\ndatetime.datetime.now()", "datetime.now"),
        ("import numpy as np\nx = np.random.rand()", "np.random"),
        ("a = 1\u200b", "ZERO WIDTH SPACE"),
        ("a = '\x00'", "\\x00"),
        ("pairs", "pairs"),
        ("emit('other', [])", "emit('other'"),
    ],
)
def test_a_cell_may_not_hold_what_makes_a_run_differ_from_its_words(
    source: str, found: str
) -> None:
    document = copy.deepcopy(GOOD)
    document["cells"][2]["source"] = source
    with pytest.raises(InputError) as refused:
        digest(document)
    assert any(found in one.found for one in [refused.value, *refused.value.also])


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (edited("cells/2/cell_type", "raw"), "cell_type"),
        (edited("cells/0/attachments", {"a.png": {}}), "attachments"),
        (edited("cells/2/metadata", {"raises-exception": True}), "metadata.raises-exception"),
        (edited("cells/2/metadata", {"tags": ["remove_cell"]}), "tag"),
        (edited("cells/2/metadata", {"tags": ["benchlib:load", "benchlib:load"]}), "tags"),
        (edited("cells/0/metadata", {"tags": ["benchlib:load"]}), "tag"),
        (edited("cells/2/source", 4), "source"),
        (edited("cells/3/metadata", {"tags": []}), "output outcome"),
        (
            edited("cells/3/metadata", {"tags": ["benchlib:table:other"]}),
            "tag benchlib:table:other",
        ),
        (edited("cells/3/source", "emit('outcome', pairs)\nx = 1"), "cell 4 of 4"),
        (edited("cells/1/metadata", {"tags": []}), "parameters"),
        (edited("metadata/kernelspec/language", "R"), "metadata.kernelspec.language"),
        (edited("metadata/nbconvert", {}), "metadata.nbconvert"),
        (edited("metadata/benchlib", {"outputs": []}), "outputs"),
        (edited("metadata/benchlib", None), "metadata.benchlib"),
        (edited(f"{OUTPUT}/columns/0/type", "float"), "outputs[0].columns[0].type"),
        (edited(f"{OUTPUT}/order", ["nowhere"]), "outputs[0]"),
        (edited("nbformat_minor", 4), "nbformat"),
    ],
)
def test_a_notebook_that_breaks_a_rule_is_refused_at_its_place(change: Edit, field: str) -> None:
    document = copy.deepcopy(GOOD)
    change(document)
    with pytest.raises(InputError) as refused:
        digest(document)
    findings = [refused.value, *refused.value.also]
    assert any(field in one.field for one in findings), str(refused.value)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xef\xbb\xbf{}",
        b"[]",
        b'{"a": 1, "a": 2}',
        b'{"a": NaN}',
        b"{} {}",
        b'{"cells": "\\ud800"}',
        b"\xff",
    ],
)
def test_what_is_no_strict_json_is_no_plan(data: bytes) -> None:
    with pytest.raises(InputError):
        plan_from_bytes(data, place="plan", lock=LOCK)


def test_all_that_is_wrong_stands_in_one_report() -> None:
    document = copy.deepcopy(GOOD)
    document["cells"][2] |= {"source": "exit()\nquit()", "metadata": {"tags": ["skip-execution"]}}
    document["cells"][0]["attachments"] = {}
    with pytest.raises(InputError) as refused:
        digest(document)
    assert len(refused.value.parts()) >= 4


def test_a_plan_without_its_library_lock_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plan.ipynb").write_text(json.dumps(GOOD))
    with pytest.raises(InputError, match=r"analysis\.lock\.json"):
        read_plan(tmp_path / "plan.ipynb")


def test_a_pinned_plan_object_proves_itself(tmp_path: Path) -> None:
    plan = plan_from_bytes(json.dumps(GOOD).encode(), place="plan", lock=LOCK)
    path = pin_plan(plan, tmp_path)
    assert path.read_bytes() == canonical_plan(plan.content)
    assert read_pinned(tmp_path) == plan.content
