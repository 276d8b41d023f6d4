"""The house rules that no single part can hold: layers, public names, imports, and clean texts."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from types import ModuleType

import pytest

import benchlib

ROOT = Path(__file__).resolve().parent.parent
PARTS = sorted(
    module.name for module in pkgutil.iter_modules(benchlib.__path__, "benchlib.") if module.ispkg
)


def tracked() -> list[Path]:
    listing = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True
    ).stdout
    paths = (ROOT / name for name in listing.decode().split("\0") if name)
    return [path for path in paths if path.is_file() and not path.is_symlink()]


# -- layers ------------------------------------------------------------------------------------


def test_nobody_imports_upwards_or_sideways() -> None:
    checked = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


# -- public names ------------------------------------------------------------------------------


def _public(module: ModuleType) -> list[tuple[str, object]]:
    return [(name, getattr(module, name)) for name in module.__all__]


def test_the_names_that_a_notebook_needs_come_from_their_parts() -> None:
    assert list(benchlib.__all__) == sorted(benchlib.__all__)
    assert all(callable(getattr(benchlib, name)) for name in benchlib.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nobody'"):
        _ = benchlib.nobody


@pytest.mark.parametrize("name", PARTS)
def test_every_name_that_a_part_promises_is_there_once_and_in_order(name: str) -> None:
    module = importlib.import_module(name)
    assert list(module.__all__) == sorted(set(module.__all__), key=_order)
    assert all(hasattr(module, each) for each in module.__all__)
    assert not [each for each in module.__all__ if each.startswith("_")]


def _order(name: str) -> tuple[int, str]:
    """Constants, then classes, then functions: the order that the linter keeps."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


@pytest.mark.parametrize("name", PARTS)
def test_every_name_that_a_part_imports_for_others_is_promised(name: str) -> None:
    module = importlib.import_module(name)
    own = {
        each
        for each, value in vars(module).items()
        if not each.startswith("_")
        and (inspect.isclass(value) or inspect.isfunction(value))
        and str(value.__module__).startswith(f"{name}.")
    }
    assert own <= set(module.__all__)


@pytest.mark.parametrize("name", PARTS)
def test_every_public_class_and_function_says_what_it_is_for(name: str) -> None:
    module = importlib.import_module(name)
    silent = [
        each
        for each, value in _public(module)
        if (inspect.isclass(value) or inspect.isfunction(value)) and not inspect.getdoc(value)
    ]
    assert not silent


@pytest.mark.parametrize("name", PARTS)
def test_every_part_says_what_it_is_for_and_what_was_decided(name: str) -> None:
    said = importlib.import_module(name).__doc__ or ""
    assert len(said.splitlines()[0]) > 20
    assert "Decisions" in said


def test_the_main_job_in_the_docstring_calls_what_there_is() -> None:
    block = "".join(re.findall(r"^    .*\n|^\n", benchlib.__doc__ or "", re.MULTILINE))
    calls = [
        node for node in ast.walk(ast.parse(textwrap.dedent(block))) if isinstance(node, ast.Call)
    ]
    ours = {node.func.attr: node for node in calls if isinstance(node.func, ast.Attribute)}
    assert len(ours) >= 3
    records = importlib.import_module("benchlib.records")
    for name, node in ours.items():
        keywords = {keyword.arg or "": None for keyword in node.keywords}
        inspect.signature(getattr(records, name)).bind(*node.args, **keywords)


# -- imports -----------------------------------------------------------------------------------

HEAVY = ("pandas", "docker", "altair", "papermill", "numpy", "IPython", "nbformat", "vl_convert")


def loaded_by(statement: str) -> set[str]:
    program = f"import sys\n{statement}\nprint(*sys.modules, sep='\\n', file=sys.stderr)"
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(run.stderr.split())


HELP = """
from benchlib.cli import main
try:
    main(['--help'], standalone_mode=False)
except SystemExit:
    pass
"""


def test_the_help_loads_nothing_heavy() -> None:
    loaded = loaded_by(HELP)
    assert "benchlib.cli" in loaded
    assert not loaded & set(HEAVY)


@pytest.mark.parametrize(
    "name", ["benchlib", "benchlib.contracts", "benchlib.stats", "benchlib.errors"]
)
def test_the_ground_loads_nothing_heavy(name: str) -> None:
    assert not loaded_by(f"import {name}") & set(HEAVY)


def test_a_run_of_pairs_loads_no_analysis() -> None:
    """It would cost each start of a run two seconds and 120 MB."""
    notebooks = set(HEAVY) - {"docker"}
    assert not loaded_by("import benchlib.records, benchlib.run") & notebooks


def test_statistics_load_the_standard_library_and_errors_alone() -> None:
    ours = {name for name in loaded_by("import benchlib.stats") if name.startswith("benchlib")}
    allowed = ("benchlib.stats", "benchlib.errors")
    assert all(name == "benchlib" or name.startswith(allowed) for name in ours)
    assert "pydantic" not in loaded_by("import benchlib.stats")


# -- texts -------------------------------------------------------------------------------------

# What is found would make sense on one machine only, or tells where it was made.
MACHINE = {
    "a home": r"(?<![\w.}])/(?:home|Users)/(?!(?:agent|user|operator|someone)\b)[a-z]\w*/",
    "the super-user's home": r"(?<![\w.}])/root/[\w.]",
    "a checkout of one machine": r"(?<![\w.}])/work/(?!space)\w",
    "notes beside the project": r"\.library/",
    "a download, where a digest should be": r"https?://\S+\.(?:whl|tar\.gz|tar\.bz2|tgz)\b",
    "a package registry's host": r"pythonhosted\.org|pypi\.org/(?:simple|packages)|npmjs\.org",
}


@pytest.mark.parametrize("pattern", MACHINE.values(), ids=MACHINE)
def test_no_tracked_text_names_a_machine(pattern: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:120]}"
        for path in tracked()
        if path != Path(__file__)
        for number, line in enumerate(path.read_bytes().decode("utf-8", "replace").splitlines(), 1)
        if re.search(pattern, line)
    ]
    assert not found


def test_no_source_holds_open_work_or_an_empty_body() -> None:
    """Open work is an issue; a function that only passes is a stub."""
    word = re.compile(r"#.*\b(?:TODO|FIXME|XXX)\b|raise NotImplementedError")
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in tracked()
        if path.suffix == ".py" and path.is_relative_to(ROOT / "benchlib")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if word.search(line)
    ]
    assert not found


def test_text_files_end_with_a_newline_and_hold_no_carriage_return() -> None:
    odd = []
    for path in tracked():
        if path.suffix in {".py", ".md", ".toml"} and "cases" not in path.parts:
            data = path.read_bytes()
            if data and (not data.endswith(b"\n") or b"\r" in data):
                odd.append(str(path.relative_to(ROOT)))
    assert not odd
