"""Explore notebooks run on a cohort as it lies in a repository, and run to the same again."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from analysis.support import ReceiptsBuilder

from benchlib.analysis.explorers import cleaned, refresh
from benchlib.errors import OutsideError

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
    refresh(path)
    text = path.read_text()
    assert "rename-populated-1" in text
    assert "image/svg+xml" in text
    assert "src=" not in text
    assert str(tmp_path) not in text
    assert nbval(path) == ""


@pytest.mark.slow
@pytest.mark.parametrize("notebook", EXPLORERS, ids=lambda path: path.stem)
def test_a_shipped_explorer_shows_what_it_gives(notebook: Path) -> None:
    assert nbval(notebook) == ""


@pytest.mark.parametrize("notebook", EXPLORERS, ids=lambda path: path.stem)
def test_a_shipped_explorer_holds_no_time_version_or_random_id(notebook: Path) -> None:
    data = notebook.read_bytes()
    document = json.loads(data)
    assert cleaned(document) == data
    shown = [cell for cell in document["cells"] if "".join(cell["source"]).startswith("views.")]
    assert shown
    assert all(cell["outputs"] for cell in shown)


def nbval(path: Path) -> str:
    """Return what nbval has to say about a notebook; nothing where all outputs came again."""
    argv = [sys.executable, "-m", "pytest", "--nbval", "--nbval-current-env", "-q", "-p"]
    done = subprocess.run(
        [*argv, "no:cacheprovider", path.name],
        cwd=path.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout if done.returncode else ""


def test_at_most_two_cells_of_all_explorers_are_not_compared() -> None:
    marks = sum(path.read_text().count("nbval-ignore-output") for path in EXPLORERS)
    assert marks <= 2


def test_an_explorer_that_fails_is_named_and_left_as_it_was(
    demo: ReceiptsBuilder, tmp_path: Path
) -> None:
    path = clone(demo, tmp_path, EXPLORERS[0])
    before = path.read_bytes()
    shutil.rmtree(tmp_path / "receipts")
    with pytest.raises(OutsideError, match=r"pair\.ipynb: cell 3"):
        refresh(path)
    assert path.read_bytes() == before
