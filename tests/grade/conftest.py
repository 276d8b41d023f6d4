"""A workspace, a challenge and a verifier that really runs, as plain processes."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from benchlib.contracts.boundaries import JudgedProcess, RunVerifier, SealedWorkspace
from benchlib.contracts.challenge import Challenge, Environment, ReferenceSolution, Verifier
from benchlib.contracts.tree import scan_tree, tree_sha256

REPOSITORY = Path(__file__).resolve().parents[2]
CASES = REPOSITORY / "tests" / "cases" / "apparatus"
RUN_TESTS = REPOSITORY / "benchlib" / "grade" / "helpers" / "run_tests.py"


def a_challenge(*, allowed: tuple[str, ...] = ("app.py",), timeout_seconds: int = 20) -> Challenge:
    return Challenge(
        id="q-1",
        kind="coding",
        prompt="Correct the sum.",
        allowed_outputs=allowed,
        agent_timeout_seconds=60,
        environment=Environment(network="none", milli_cpus=1000, memory_mb=512, max_processes=64),
        verifier=Verifier(
            path="verifiers/q-1",
            sha256="a" * 64,
            runtime=("python3", "-I", "run_tests.py", "tests"),
            timeout_seconds=timeout_seconds,
        ),
        reference_solution=ReferenceSolution(
            path="solutions/q-1", sha256="b" * 64, self_check=("python3", "-m", "unittest")
        ),
        answer_phrases=("return a + b",),
    )


def runs(verifier: Path, *argv: str, timeout_seconds: int = 30) -> RunVerifier:
    """Run a verifier as a process of this machine, with a verdict file of its own."""

    def run_verifier(workspace: Path) -> JudgedProcess:
        with tempfile.TemporaryDirectory() as channel:
            verdict = Path(channel, "verdict.json")
            done = subprocess.run(
                [*argv, str(workspace), str(verdict)],
                cwd=verifier,
                env={"PATH": "/usr/bin:/bin"},
                capture_output=True,
                timeout=timeout_seconds,
                check=False,
            )
            return JudgedProcess(
                exit_status=done.returncode if done.returncode >= 0 else None,
                timed_out=False,
                milliseconds=1,
                stdout=done.stdout,
                stderr=done.stderr,
                verdict=verdict.read_bytes() if verdict.is_file() else None,
            )

    return run_verifier


def says(verdict: bytes | None, exit_status: int | None, **more: object) -> RunVerifier:
    """A verifier's process that ended in a given way."""
    ending = {"timed_out": False, "milliseconds": 5, "stdout": b"", "stderr": b"", **more}
    return lambda _: JudgedProcess(exit_status=exit_status, verdict=verdict, **ending)  # type: ignore[arg-type]


def sealed(root: Path) -> SealedWorkspace:
    entries = tuple(sorted(scan_tree(root)))
    return SealedWorkspace(root, entries, tree_sha256(entries), "c" * 64)


def write(root: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    root.mkdir(parents=True, exist_ok=True)
    return root


@pytest.fixture
def forged() -> Callable[[str], str]:
    """The inputs of the case about forged test output, by name."""
    return lambda name: (CASES / "forged_output" / f"{name}.txt").read_text()


@pytest.fixture
def verifier(tmp_path: Path, forged: Callable[[str], str]) -> Path:
    """A verifier's folder: the helper's copy and one hidden test."""
    folder = write(tmp_path / "verifier", {"tests/test_app.py": forged("test_app.py")})
    (folder / "run_tests.py").write_bytes(RUN_TESTS.read_bytes())
    return folder


PYTHON = sys.executable
