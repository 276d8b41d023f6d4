"""Proof, rehearsal and verdict through the real sandboxes and the real audit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchlib.contracts.boundaries import JudgedProcess, RunVerifier, Sandbox, SealedWorkspace
from benchlib.contracts.challenge import Challenge
from benchlib.errors import RefusedError
from benchlib.grade import rehearse, verify
from benchlib.prepare import auto_loaded_paths
from benchlib.run.audit import audit
from benchlib.sandbox import DockerSandbox, LocalSandbox
from tests.grade.conftest import CASES, RUN_TESTS, a_challenge, sealed, write

WRONG = "def add(a, b):\n    return a - b\n"
RIGHT = "def add(a, b):\n    return a + b\n"
TESTS = """
import unittest
from app import add

class AddTest(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add(2, 3), 5)
"""


@pytest.fixture(params=["local", pytest.param("docker", marks=pytest.mark.docker)])
def sandbox(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Sandbox]:
    label = f"grade-{tmp_path.name}"
    if request.param == "docker":
        yield (docker := DockerSandbox(label))
        docker.remove_leftovers()
    else:
        yield LocalSandbox(label, scratch_root=tmp_path / "s", auto_loaded=auto_loaded_paths)


@pytest.fixture
def workspace(tmp_path: Path) -> SealedWorkspace:
    return sealed(write(tmp_path / "tree", {"app.py": WRONG, "test_app.py": TESTS}))


@pytest.fixture
def solution(tmp_path: Path) -> Path:
    return write(tmp_path / "solution", {"app.py": RIGHT})


def undeclared(
    challenge: Challenge, workspace: SealedWorkspace, solution: Path, sandbox: Sandbox
) -> list[str]:
    sandbox.load(workspace)
    report = rehearse(challenge, workspace, solution, sandbox=sandbox, audit=audit)
    return [mutation.path for mutation in report.undeclared]


def test_a_rehearsal_shows_what_the_toolchain_would_be_blamed_for(
    workspace: SealedWorkspace, solution: Path, sandbox: Sandbox
) -> None:
    left = undeclared(a_challenge(), workspace, solution, sandbox)
    assert left
    assert all(path.startswith("__pycache__/") for path in left)
    declared = a_challenge(allowed=("app.py", "**/__pycache__"))
    assert undeclared(declared, workspace, solution, sandbox) == []


def test_a_check_that_fails_on_the_reference_solution_is_refused(
    workspace: SealedWorkspace, tmp_path: Path, sandbox: Sandbox
) -> None:
    wrong = write(tmp_path / "wrong", {"app.py": WRONG + "\n"})
    with pytest.raises(RefusedError) as caught:
        undeclared(a_challenge(), workspace, wrong, sandbox)
    assert caught.value.field == "reference_solution.self_check"
    assert "exit status 1" in caught.value.found


def test_planted_verdicts_and_tools_do_not_reach_the_verifier(
    workspace: SealedWorkspace, verifier: Path, tmp_path: Path, sandbox: Sandbox
) -> None:
    """Reward zero from the verifier itself: here the whole workspace may be written."""
    (verifier / "run_tests.py").write_bytes(RUN_TESTS.read_bytes())
    write(verifier, {"tests/test_app.py": TESTS})
    challenge = a_challenge(allowed=("app.py",))
    sandbox.load(workspace)
    plant = {"plant.sh": (CASES / "plant_verdict.sh").read_bytes()}
    arm = sandbox.open_arm(workspace, challenge.environment, agent_files=plant, door=None)
    try:
        argv = ("sh", f"{arm.paths.agent}/plant.sh")
        arm.run(argv, environment={}, timeout_seconds=30, output_limit_bytes=1000)
        planted = {entry.path for entry in arm.finished().entries}
        arm.copy_workspace(tmp_path / "copy")
    finally:
        arm.close()
    assert {"reward.json", "python3", ".local/bin/pytest"} <= planted
    verdict = verify(tmp_path / "copy", challenge, judging(sandbox, challenge, verifier))
    assert (verdict.status, verdict.exit_status) == ("failed", 1)


def judging(sandbox: Sandbox, challenge: Challenge, verifier: Path) -> RunVerifier:
    def run_verifier(workspace: Path) -> JudgedProcess:
        return sandbox.judge(
            workspace,
            verifier,
            runtime=challenge.verifier.runtime,
            timeout_seconds=challenge.verifier.timeout_seconds,
        )

    return run_verifier


def test_a_verifier_that_hangs_or_floods_gives_no_verdict(
    workspace: SealedWorkspace, tmp_path: Path, sandbox: Sandbox
) -> None:
    challenge = a_challenge(timeout_seconds=2)
    runtime = {"runtime": ("sh", "judge.sh")}
    challenge = challenge.model_copy(
        update={"verifier": challenge.verifier.model_copy(update=runtime)}
    )
    hanging = write(tmp_path / "hanging", {"judge.sh": "sleep 60\n"})
    verdict = verify(workspace.root, challenge, judging(sandbox, challenge, hanging))
    assert (verdict.status, verdict.reason) == (
        "no-verdict",
        "the verifier did not end within 2 s",
    )
    flooding = write(tmp_path / "flooding", {"judge.sh": 'head -c 90000000 /dev/zero > "$2"\n'})
    verdict = verify(workspace.root, challenge, judging(sandbox, challenge, flooding))
    assert verdict.status == "no-verdict"
