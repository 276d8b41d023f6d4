"""The speed table: every measurement of a clone's ``tests/benchmarks``, as ratios in one run.

A file there named ``NAME_bench.py`` has a function ``rows()`` that returns
``(what, ours, referee, referee's, ratio, target)``; the first of them says in its
unit what was measured. Nothing here passes or fails: a number is printed beside its
target, for a time that is asserted fails on another machine.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from benchlib.errors import InWords, OutsideError
from benchlib.records.verbs import find_repository


class Row(NamedTuple):
    """One line of the table, as text where a unit belongs to the number."""

    what: str
    ours: str
    referee: str
    referees: str
    ratio: str
    target: str


def bench_table(progress: Callable[[str], None]) -> str:
    """Measure everything and return the table as Markdown.

    Args:
        progress: Told which file is being measured.

    Raises:
        InputError: This is no clone.
        OutsideError: A measurement could not be made; says which and why.
    """
    folder = find_repository() / "tests" / "benchmarks"
    rows = [Row(*("-" * 3 for _ in Row._fields))]
    for path in sorted(folder.glob("*_bench.py")):
        progress(f"measuring {path.stem}")
        rows += [_row(values) for values in _rows(path)]
    head = Row("what", "ours", "referee", "referee's", "ratio", "target")
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, *rows])


def _rows(path: Path) -> Sequence[Sequence[object]]:
    module = _load(path)
    try:
        return list(module.rows())
    except Exception as error:
        raise OutsideError(
            str(path),
            found=InWords(f"{type(error).__name__}: {error}"),
            allowed="a measurement that runs here",
            next_step="install what it needs; its docstring says what",
        ) from error


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise OutsideError(
            str(path),
            found=InWords("no module"),
            allowed="a Python file",
            next_step="restore the file",
        )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _row(values: Sequence[object]) -> Row:
    return Row(*(f"{value:.3g}" if isinstance(value, float) else str(value) for value in values))
