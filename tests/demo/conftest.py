"""The demo cohort as it lies in the repository, and its project's tree."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchlib.contracts.challenge import Challenge
from benchlib.contracts.cohort import Cohort
from benchlib.contracts.fixture import Fixture, GitCorpus
from benchlib.contracts.reading import read_file

DEMO = Path(__file__).resolve().parents[2] / "cohorts" / "demo" / "v1"

HAND_WRITTEN = ("CLAUDE.md", "parceldesk/AGENTS.md", ".cursorrules")
"""What the project's people keep for their assistants; redaction takes it out."""

CHALLENGES = tuple(sorted(path.stem for path in (DEMO / "challenges").glob("*.json")))


def challenge_of(name: str) -> Challenge:
    return read_file(Challenge, DEMO / "challenges" / f"{name}.json")


@pytest.fixture(scope="session")
def cohort() -> Cohort:
    return read_file(Cohort, DEMO / "cohort.json")


@pytest.fixture(scope="session")
def the_fixture(cohort: Cohort) -> Fixture:
    return read_file(Fixture, DEMO / "fixtures" / f"{cohort.fixtures[0]}.json")


@pytest.fixture(scope="session")
def whole_tree(the_fixture: Fixture, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project at the pinned commit, nothing taken out, without Git's data."""
    assert isinstance(the_fixture.corpus, GitCorpus)
    clone, tree = tmp_path_factory.mktemp("clone"), tmp_path_factory.mktemp("whole")
    bundle = DEMO / the_fixture.corpus.location
    subprocess.run(["git", "clone", "-q", "--bare", str(bundle), str(clone)], check=True)
    index = {"GIT_DIR": str(clone), "GIT_WORK_TREE": str(tree), "PATH": "/usr/bin:/bin"}
    checkout = ["git", "checkout", "-q", the_fixture.corpus.commit, "--", "."]
    subprocess.run(checkout, env=index, cwd=tree, check=True)
    return tree


@pytest.fixture(scope="session")
def clean_tree(whole_tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project as an agent meets it, without what was written for assistants."""
    tree = tmp_path_factory.mktemp("clean") / "tree"
    names = {Path(path).name for path in HAND_WRITTEN}
    subprocess.run(["cp", "-r", str(whole_tree), str(tree)], check=True)
    for path in [path for path in tree.rglob("*") if path.name in names]:
        path.unlink()
    return tree
