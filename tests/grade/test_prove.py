from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchlib.contracts.boundaries import JudgedProcess, RunVerifier
from benchlib.contracts.challenge import Challenge
from benchlib.contracts.plan import VerifierProof
from benchlib.errors import InputError, RefusedError
from benchlib.grade import apply_overlay, prove
from tests.grade.conftest import CASES, PYTHON, a_challenge, runs, says, sealed, write

HIDDEN = """
import unittest
from app import add

class AddTest(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add(2, 3), 5)
"""


@pytest.fixture
def tree(tmp_path: Path, forged: Callable[[str], str]) -> Path:
    return write(tmp_path / "tree", {"app.py": forged("app.py"), "src/settings.rs": "Automatic"})


@pytest.fixture
def verifier(verifier: Path) -> Path:
    return write(verifier, {"tests/test_app.py": HIDDEN})


@pytest.fixture
def solution(tmp_path: Path) -> Path:
    return write(tmp_path / "solution", {"app.py": "def add(a, b):\n    return a + b\n"})


def prove_it(
    tree: Path, solution: Path, run_verifier: RunVerifier, challenge: Challenge | None = None
) -> VerifierProof:
    return prove(
        challenge or a_challenge(),
        sealed(tree),
        solution,
        run_verifier,
        scratch=tree.parent / "scratch",
        sandbox="local",
    )


def refusals(error: RefusedError) -> list[str]:
    return [part["found"].strip("'\"") for part in error.parts()]


def test_a_good_verifier_is_proved_on_all_three_workspaces(
    tree: Path, solution: Path, verifier: Path
) -> None:
    proof = prove_it(tree, solution, runs(verifier, PYTHON, "-I", "run_tests.py", "tests"))
    assert [(run.workspace, run.status) for run in proof.runs] == [
        ("untouched", "failed"),
        ("untouched", "failed"),
        ("reference-solution", "passed"),
        ("reference-solution", "passed"),
        ("empty", "failed"),
    ]
    assert list((tree.parent / "scratch").iterdir()) == []
    assert (tree / "app.py").read_text().endswith("a - b\n")


def test_the_verifier_that_accepts_everything_is_refused(tree: Path, solution: Path) -> None:
    always = runs(CASES, "sh", str(CASES / "verifier_always.sh"))
    with pytest.raises(RefusedError) as caught:
        prove_it(tree, solution, always)
    assert refusals(caught.value)[0] == "verifier accepts the untouched tree"
    assert "verifier accepts an empty workspace" in refusals(caught.value)


def _constant(passed: str, status: int) -> RunVerifier:
    return says(f'{{"passed": {passed}, "reason": "r"}}'.encode(), status)


def _in_turn(*verdicts: tuple[bytes, int | None]) -> RunVerifier:
    left = list(verdicts)

    def run_verifier(_: Path) -> JudgedProcess:
        verdict, status = left.pop(0)
        return says(verdict, status)(Path())

    return run_verifier


BEYOND = "exit status 70; a verdict is 0 or 1"
PASS, FAIL, CRASH = (b'{"passed": true}', 0), (b'{"passed": false}', 1), (b"", 70)


@pytest.mark.parametrize(
    ("run_verifier", "sentences"),
    [
        (
            _constant("true", 0),
            ["verifier accepts the untouched tree", "verifier accepts an empty workspace"],
        ),
        (_constant("false", 1), ["verifier rejects the reference solution: r"]),
        (
            _in_turn(FAIL, FAIL, PASS, FAIL, FAIL),
            ["verifier says different things about the reference solution"],
        ),
        (
            _in_turn(FAIL, CRASH, PASS, PASS, FAIL),
            ["verifier says different things about the untouched tree"],
        ),
        (_in_turn(FAIL, PASS, PASS, PASS, FAIL), ["verifier accepts the untouched tree"]),
        (
            _in_turn(FAIL, FAIL, PASS, PASS, CRASH),
            [f"verifier gives no verdict on an empty workspace: {BEYOND}"],
        ),
    ],
)
def test_a_verifier_that_cannot_tell_right_from_wrong_is_refused(
    tree: Path, solution: Path, run_verifier: RunVerifier, sentences: list[str]
) -> None:
    with pytest.raises(RefusedError) as caught:
        prove_it(tree, solution, run_verifier)
    assert refusals(caught.value) == sentences


def test_a_reference_solution_outside_the_outputs_is_refused(
    tree: Path, solution: Path, verifier: Path
) -> None:
    write(solution, {"notes/todo.md": "x"})
    run_verifier = runs(verifier, PYTHON, "-I", "run_tests.py", "tests")
    with pytest.raises(RefusedError, match=r"writes notes/todo\.md, which is no allowed output"):
        prove_it(tree, solution, run_verifier)
    proof = prove_it(tree, solution, run_verifier, a_challenge(allowed=("app.py", "notes")))
    assert proof.challenge == "q-1"


def test_an_overlay_replaces_files_and_links_and_keeps_links(tmp_path: Path) -> None:
    tree = write(tmp_path / "tree", {"a.txt": "old", "kept.txt": "kept"})
    (tree / "b.txt").symlink_to("a.txt")
    solution = write(tmp_path / "solution", {"a.txt": "new", "deep/er/c.txt": "c", "b.txt": "b"})
    (solution / "link").symlink_to("a.txt")
    apply_overlay(tree, solution)
    assert {path: (tree / path).read_text() for path in ("a.txt", "b.txt", "kept.txt")} == {
        "a.txt": "new",
        "b.txt": "b",
        "kept.txt": "kept",
    }
    assert (tree / "link").readlink() == Path("a.txt")
    assert (tree / "deep/er/c.txt").read_text() == "c"


@pytest.mark.parametrize("is_link", [True, False])
def test_an_overlay_never_leads_out_of_the_tree(tmp_path: Path, is_link: bool) -> None:
    tree, outside = write(tmp_path / "tree", {}), write(tmp_path / "outside", {})
    if is_link:
        (tree / "etc").symlink_to(outside)
    else:
        (tree / "etc").write_text("a file")
    solution = write(tmp_path / "solution", {"etc/passwd": "root"})
    with pytest.raises(InputError, match="a link or a file in the tree"):
        apply_overlay(tree, solution)
    assert list(outside.iterdir()) == []
