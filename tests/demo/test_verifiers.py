"""Each verifier of the demo is proved by really running it."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchlib.contracts.boundaries import RunVerifier
from benchlib.contracts.challenge import Challenge
from benchlib.grade import apply_overlay, prove, verify
from tests.demo.conftest import CHALLENGES, DEMO, challenge_of
from tests.grade.conftest import PYTHON, runs, sealed, write


def verifier_of(challenge: Challenge) -> RunVerifier:
    assert challenge.verifier.runtime[0] == "python3"
    argv = (PYTHON, *challenge.verifier.runtime[1:])
    return runs(DEMO / challenge.verifier.path, *argv, timeout_seconds=60)


@pytest.mark.parametrize("name", CHALLENGES)
def test_the_verifier_is_proved(name: str, clean_tree: Path, tmp_path: Path) -> None:
    challenge = challenge_of(name)
    proof = prove(
        challenge,
        sealed(clean_tree),
        DEMO / challenge.reference_solution.path,
        verifier_of(challenge),
        scratch=tmp_path / "scratch",
        sandbox="local",
    )
    assert len(proof.runs) == 5


WRONG = {
    "the carrier's figure": (
        "depot-label-columns",
        {"answers/label-columns.txt": "columns: 40\n"},
    ),
    "the old head": ("depot-label-columns", {"answers/label-columns.txt": "columns: 38\n"}),
    "two answers": (
        "depot-label-columns",
        {"answers/label-columns.txt": "columns: 34\ncolumns: 40"},
    ),
    "another form": ("depot-label-columns", {"answers/label-columns.txt": "34"}),
    "the code's first queue": ("night-drain-order", {"ops/drain.conf": "first: express\n"}),
    "every queue": ("night-drain-order", {"ops/drain.conf": "first: returns express\n"}),
}
RATES = "parceldesk/rates.py"
WAYS = {
    "half up, line by line": ("ROUND_HALF_EVEN", "ROUND_HALF_UP"),
    "half down, line by line": ("ROUND_HALF_EVEN", "ROUND_HALF_DOWN"),
    "down, line by line": ("ROUND_HALF_EVEN", "ROUND_DOWN"),
    "half even, the sum only": (
        'sum((line.quantize(CENT, rounding=ROUND_HALF_EVEN) for line in lines), Decimal("0.00"))',
        'sum(lines, Decimal("0.00")).quantize(CENT, rounding=ROUND_HALF_EVEN)',
    ),
}


def judged(name: str, tree: Path, changes: dict[str, str], tmp_path: Path) -> str:
    challenge = challenge_of(name)
    workspace = tmp_path / "w"
    apply_overlay(workspace, tree)
    write(workspace, changes)
    return verify(workspace, challenge, verifier_of(challenge)).status


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_answer_fails(case: str, clean_tree: Path, tmp_path: Path) -> None:
    name, changes = WRONG[case]
    assert judged(name, clean_tree, changes, tmp_path) == "failed"


@pytest.mark.parametrize("case", WAYS)
def test_another_way_of_rounding_fails(case: str, clean_tree: Path, tmp_path: Path) -> None:
    right = (DEMO / "solutions" / "surcharge-booking" / RATES).read_text()
    old, new = WAYS[case]
    assert old in right
    changes = {RATES: right.replace(old, new)}
    assert judged("surcharge-booking", clean_tree, changes, tmp_path) == "failed"


def test_a_right_change_that_breaks_the_projects_tests_fails(
    clean_tree: Path, tmp_path: Path
) -> None:
    right = (DEMO / "solutions" / "surcharge-booking" / RATES).read_text()
    broken = right.replace("FUEL_PERCENT / 100", "FUEL_PERCENT / 100 + 0")
    assert judged("surcharge-booking", clean_tree, {RATES: broken}, tmp_path) == "passed"
    broken = right.replace("def line_surcharge", "def exact_surcharge")
    broken = broken.replace("(line_surcharge(", "(exact_surcharge(")
    assert judged("surcharge-booking", clean_tree, {RATES: broken}, tmp_path / "2") == "failed"
