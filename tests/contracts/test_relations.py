"""Fields that must fit each other: each relation broken once, told at the field that is wrong."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchlib.contracts import CONTRACTS, Cohort
from benchlib.contracts.reading import read
from benchlib.errors import InputError

EXAMPLES = Path(__file__).parent / "examples"
Change = Callable[[dict[str, Any]], object]


def _twice(name: str) -> Change:
    return lambda document: document[name].append(copy.deepcopy(document[name][0]))


def _set(*path: Any) -> Change:  # noqa: ANN401 - keys, indexes, and the value at the end
    *parts, last, value = path

    def change(document: dict[str, Any]) -> None:
        here: Any = document
        for part in parts:
            here = here[part]
        here[last] = value

    return change


# contract, change, field, found, beginning of what is allowed
RELATIONS: list[tuple[str, Change, str, str, str]] = [
    ("challenge", _set("follow_up_prompt", None), "follow_up_prompt", "null", "a prompt in a"),
    ("challenge", _set("kind", "coding"), "follow_up_prompt", "'Now the", "a prompt in a"),
    ("challenge", _set("id", "aux"), "id", "'aux'", "an identifier that can name a file"),
    ("challenge", _set("id", "a."), "id", "'a.'", "an identifier that can name a file"),
    ("challenge", _set("allowed_outputs", ["src/*.py"]), "allowed_outputs[0]", "'src/*", "a port"),
    ("challenge", _set("allowed_outputs", ["**/**/a"]), "allowed_outputs[0]", "'**/**", "a port"),
    ("challenge", _set("verifier", "path", "/v"), "verifier.path", "'/v'", "a portable relative"),
    ("fixture", _set("id", "con.x"), "id", "'con.x'", "an identifier that can name a file"),
    ("fixture", _twice("graph_arms"), "graph_arms[2].id", "'populated'", "a name that no entry"),
    ("fixture", _twice("probes"), "probes[1].name", "'width-by-words'", "a name that no entry"),
    ("cohort", _set("id", "nul"), "id", "'nul'", "an identifier that can name a file"),
    ("cohort", _twice("challenges"), "challenges[1]", "'label-width'", "a name that no entry"),
    ("cohort", _twice("fixtures"), "fixtures[1]", "'parcel-shop'", "a name that no entry"),
    ("cohort", _twice("conditions"), "conditions[2].id", "'no-memory'", "a name that no entry"),
    (
        "cohort",
        lambda document: document["analysis"]["endpoints"].append(
            copy.deepcopy(document["analysis"]["endpoints"][0])
        ),
        "analysis.endpoints[1].id",
        "'solved'",
        "a name that no entry",
    ),
    (
        "cohort",
        _set("analysis", "endpoints", 0, "margin_ppm", None),
        "analysis.endpoints[0].margin_ppm",
        "null",
        "a margin for equivalence and noninferiority",
    ),
    (
        "cohort",
        _set("analysis", "endpoints", 0, "family", "conditional"),
        "analysis.endpoints[0].family",
        "'conditional'",
        "unconditional, with a margin",
    ),
    (
        "cohort",
        _set("analysis", "endpoints", 0, "family", "strata"),
        "analysis.endpoints[0].family",
        "'strata'",
        "unconditional, with a margin",
    ),
    (
        "cohort",
        _set("analysis", "endpoints", 0, "challenges", ["label-height"]),
        "analysis.endpoints[0].challenges",
        '["label-height"]',
        "challenges of this cohort: label-width",
    ),
    ("cohort", _twice("pairs"), "pairs[1].id", "'label-width-1'", "a name that no entry"),
    (
        "cohort",
        _set("pairs", 0, "challenge", "x"),
        "pairs[0].challenge",
        "'x'",
        "one of label-width",
    ),
    ("cohort", _set("pairs", 0, "fixture", "x"), "pairs[0].fixture", "'x'", "one of parcel-shop"),
    (
        "cohort",
        _set("pairs", 0, "control", "x"),
        "pairs[0].control",
        "'x'",
        "one of no-memory, graph",
    ),
    (
        "cohort",
        _set("pairs", 0, "treatment", "no-memory"),
        "pairs[0].treatment",
        "'no-memory'",
        "another condition",
    ),
    ("scripted-policy", _set("rules", 1, "say", ""), "rules[1].say", "''", "words, or calls"),
    ("pair-receipt", _set("order", ["control", "control"]), "order", '["control"', "control and"),
    ("pair-receipt", _set("status", "void"), "reason", "null", "null for a completed pair"),
    ("pair-receipt", _set("reason", "timeout"), "reason", "'timeout'", "null for a completed pair"),
    ("pair-receipt", _set("change", None), "change", "nothing", "an outcome for a completed"),
    ("pair-receipt", _twice("arms"), "arms[2].arm", "'control'", "a name that no entry"),
    (
        "pair-receipt",
        _set("change", "outcome", "lost"),
        "change.outcome",
        "'lost'",
        "gained, as the",
    ),
    ("arm-receipt", _set("status", "void"), "reason", "null", "null for a completed arm"),
    ("arm-receipt", _set("reason", "timeout"), "reason", "'timeout'", "null for a completed arm"),
    ("arm-receipt", _set("reward", None), "reward", "null", "0 or 1 for a completed arm"),
    (
        "trajectory",
        _set("steps", 1, "step_id", 7),
        "steps[1].step_id",
        "7",
        "2: steps count from 1",
    ),
    (
        "trajectory",
        _set("steps", 1, "model_name", "m"),
        "steps[1].model_name",
        "a value on",
        "this",
    ),
    (
        "trajectory",
        _set("steps", 2, "observation", "results", 0, "source_call_id", "c-9"),
        "steps[2].observation.results[0].source_call_id",
        "'c-9'",
        "the tool_call_id of a call",
    ),
    (
        "trajectory",
        _set("steps", 0, "extra", "benchlib", "log_lines", [3, 2]),
        "steps[0].extra.benchlib.log_lines",
        "[3, 2]",
        "the first line, then the last",
    ),
]


@pytest.mark.parametrize(
    ("name", "change", "field", "found", "allowed"),
    RELATIONS,
    ids=[f"{row[0]} {row[2]} {row[3]}" for row in RELATIONS],
)
def test_a_relation_is_told_at_the_field_that_breaks_it(
    name: str, change: Change, field: str, found: str, allowed: str
) -> None:
    document = json.loads((EXAMPLES / f"{name}.json").read_bytes())
    change(document)
    with pytest.raises(InputError) as caught:
        read(CONTRACTS[name], json.dumps(document).encode(), f"{name}.json")
    told = {part["field"]: part for part in caught.value.parts()}
    assert told[field]["found"].startswith(found)
    assert told[field]["allowed"].startswith(allowed)


def test_all_broken_relations_of_a_cohort_come_at_once() -> None:
    document = json.loads((EXAMPLES / "cohort.json").read_bytes())
    document["pairs"][0] |= {"challenge": "x", "fixture": "y", "control": "z"}
    with pytest.raises(InputError) as caught:
        read(Cohort, json.dumps(document).encode(), "cohort.json")
    fields = [part["field"] for part in caught.value.parts()]
    assert fields == ["pairs[0].challenge", "pairs[0].fixture", "pairs[0].control"]


def test_a_condition_is_found_by_its_id() -> None:
    cohort = read(Cohort, (EXAMPLES / "cohort.json").read_bytes(), "cohort.json")
    assert cohort.condition("no-memory").memory is None
