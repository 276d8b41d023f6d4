"""Explore notebooks run on a cohort as it lies in a repository, and run to the same again."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import papermill
import pytest
from analysis.support import ReceiptsBuilder

REPOSITORY = Path(__file__).parents[2]
EXPLORERS = sorted((REPOSITORY / "notebooks" / "explore").glob("*.ipynb"))


def clone(demo: ReceiptsBuilder, folder: Path, notebook: Path) -> Path:
    """Lay out a repository that holds the cohort, its receipts and one explore notebook."""
    cohort = folder / "cohorts" / "demo" / "v1"
    cohort.mkdir(parents=True)
    shutil.copy(demo.root / "cohort.json", cohort / "cohort.json")
    shutil.copytree(demo.root / "receipts", folder / "receipts" / "demo" / "v1")
    explore = folder / "notebooks" / "explore"
    explore.mkdir(parents=True)
    return Path(shutil.copy(notebook, explore / notebook.name))


@pytest.mark.slow
@pytest.mark.parametrize("notebook", EXPLORERS, ids=lambda path: path.stem)
def test_an_explorer_runs_and_nbval_finds_the_same_again(
    demo: ReceiptsBuilder, tmp_path: Path, notebook: Path
) -> None:
    path = clone(demo, tmp_path, notebook)
    made = papermill.execute_notebook(
        str(path), str(path), cwd=str(path.parent), kernel_name="python3", progress_bar=False
    )
    outputs = [output for cell in made.cells for output in cell.get("outputs", [])]
    text = "".join(str(output.get("data", {})) for output in outputs)
    assert "rename-populated-1" in text
    assert "image/svg+xml" in text
    assert "src=" not in text
    argv = [sys.executable, "-m", "pytest", "--nbval", "--nbval-current-env", "-q", "-p"]
    done = subprocess.run(
        [*argv, "no:cacheprovider", path.name],
        cwd=path.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_at_most_two_cells_of_all_explorers_are_not_compared() -> None:
    marks = sum(path.read_text().count("nbval-ignore-output") for path in EXPLORERS)
    assert marks <= 2
