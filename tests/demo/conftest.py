"""The demo cohort as it lies in the repository, and its project's tree."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchlib.contracts.boundaries import JudgedProcess, RunVerifier
from benchlib.contracts.challenge import Challenge
from benchlib.contracts.cohort import Cohort
from benchlib.contracts.fixture import Fixture, GitCorpus
from benchlib.contracts.reading import read_file
from benchlib.prepare import auto_loaded_paths
from benchlib.run.preparation import Prepared, prepare_workspace
from benchlib.sandbox import LocalSandbox

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
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> LocalSandbox:
    scratch = tmp_path_factory.mktemp("s")
    return LocalSandbox("demo", scratch_root=scratch, auto_loaded=auto_loaded_paths)


@pytest.fixture(scope="session")
def prepared(
    cohort: Cohort,
    the_fixture: Fixture,
    sandbox: LocalSandbox,
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, Prepared]:
    """Each challenge's workspace: redacted, certified on every surface, sealed."""
    work = tmp_path_factory.mktemp("work")
    return {
        name: prepare_workspace(
            cohort, challenge_of(name), the_fixture, root=DEMO, work=work, sandbox=sandbox
        )
        for name in cohort.challenges
    }


@pytest.fixture(scope="session")
def clean_tree(prepared: dict[str, Prepared]) -> Path:
    """The project as an agent meets it, without what was written for assistants."""
    return next(iter(prepared.values())).sealed.root


def verifier_in(sandbox: LocalSandbox, challenge: Challenge) -> RunVerifier:
    """Run a challenge's verifier as the runner does."""

    def run_verifier(workspace: Path) -> JudgedProcess:
        return sandbox.judge(
            workspace,
            DEMO / challenge.verifier.path,
            runtime=challenge.verifier.runtime,
            timeout_seconds=challenge.verifier.timeout_seconds,
        )

    return run_verifier
