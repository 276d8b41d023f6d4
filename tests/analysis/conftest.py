"""Plans for the tests: the small cases, given the declarations that they are meant to carry."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchlib.analysis.declarations import AnalysisLock, Library
from benchlib.analysis.plans import FrozenPlan, read_plan

CASES = Path(__file__).parents[1] / "cases" / "notebooks"
DECLARED = {
    "outputs": [
        {
            "id": "outcome",
            "title": "Outcome of each pair",
            "columns": [
                {"name": "challenge", "type": "text"},
                {"name": "with_memory", "type": "integer"},
                {"name": "without_memory", "type": "integer"},
            ],
            "order": ["challenge"],
        }
    ],
    "parameters": [{"name": "alpha_ppm", "minimum": 1, "maximum": 500000}],
}
LOCK = AnalysisLock(python="3.11", libraries=(Library(name="pandas", version="3.1.1"),))

Notebook = dict[str, Any]
Change = Callable[[Notebook], None]


def notebook(name: str = "plan_good.ipynb") -> Notebook:
    """Return a case with its declarations."""
    document: Notebook = json.loads((CASES / name).read_bytes())
    document["metadata"]["benchlib"] = json.loads(json.dumps(DECLARED))
    return document


class Plans:
    """Writes plan notebooks into one folder and reads them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        (folder / "analysis.lock.json").write_bytes(LOCK.canonical())

    def write(self, document: Notebook, name: str = "primary.ipynb") -> Path:
        path = self.folder / name
        path.write_text(json.dumps(document))
        return path

    def read(self, case: str = "plan_good.ipynb", change: Change = lambda _: None) -> FrozenPlan:
        document = notebook(case)
        change(document)
        return read_plan(self.write(document), place="notebooks/plans/primary.ipynb")

    def with_cell(self, number: int, source: str) -> FrozenPlan:
        """Read the good case with another source in one cell, counted from 1."""

        def change(document: Notebook) -> None:
            document["cells"][number - 1]["source"] = source

        return self.read(change=change)


@pytest.fixture
def plans(tmp_path: Path) -> Plans:
    """A place for plan notebooks, with a library lock."""
    return Plans(tmp_path / "plans")
