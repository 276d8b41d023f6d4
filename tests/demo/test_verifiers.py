"""Each challenge of the demo is proved and rehearsed: really run, in the local sandbox."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchlib.grade import apply_overlay, prove, rehearse, verify
from benchlib.run.audit import audit
from benchlib.run.preparation import Prepared
from benchlib.sandbox import LocalSandbox
from tests.demo.conftest import CHALLENGES, DEMO, HAND_WRITTEN, challenge_of, verifier_in
from tests.grade.conftest import write


@pytest.mark.parametrize("name", CHALLENGES)
def test_the_workspace_is_redacted_and_certified(name: str, prepared: dict[str, Prepared]) -> None:
    preparation = prepared[name].preparation
    assert sorted(file.path for file in preparation.redaction.removed) == sorted(HAND_WRITTEN)
    assert preparation.certification.passed
    assert preparation.certification.declared == ()
    kinds = {surface.kind for surface in preparation.certification.surfaces}
    assert {"source", "evidence", "graph", "challenge", "kit-names", "image"} <= kinds


def test_all_challenges_start_from_one_tree(prepared: dict[str, Prepared]) -> None:
    assert len({one.sealed.sha256 for one in prepared.values()}) == 1


@pytest.mark.parametrize("name", CHALLENGES)
def test_the_verifier_is_proved(
    name: str, prepared: dict[str, Prepared], sandbox: LocalSandbox, tmp_path: Path
) -> None:
    challenge = challenge_of(name)
    proof = prove(
        challenge,
        prepared[name].sealed,
        DEMO / challenge.reference_solution.path,
        verifier_in(sandbox, challenge),
        scratch=tmp_path / "scratch",
        sandbox="local",
    )
    assert len(proof.runs) == 5


@pytest.mark.parametrize("name", CHALLENGES)
def test_the_reference_solution_and_its_check_pass_the_audit(
    name: str, prepared: dict[str, Prepared], sandbox: LocalSandbox
) -> None:
    challenge = challenge_of(name)
    solution = DEMO / challenge.reference_solution.path
    sealed = prepared[name].sealed
    report = rehearse(challenge, sealed, solution, sandbox=sandbox, audit=audit)
    assert report.undeclared == ()
    assert any("__pycache__" in mutation.path for mutation in report.mutations)


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


Judged = Callable[[str, dict[str, str]], str]


@pytest.fixture
def judged(clean_tree: Path, sandbox: LocalSandbox, tmp_path: Path) -> Judged:
    """Judge the tree with some files written."""

    def judge(name: str, files: dict[str, str]) -> str:
        workspace, challenge = tmp_path / f"w{len(list(tmp_path.iterdir()))}", challenge_of(name)
        apply_overlay(workspace, clean_tree)
        for path in files:
            (workspace / path).unlink(missing_ok=True)
        write(workspace, files)
        return verify(workspace, challenge, verifier_in(sandbox, challenge)).status

    return judge


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_answer_fails(case: str, judged: Judged) -> None:
    assert judged(*WRONG[case]) == "failed"


@pytest.mark.parametrize("case", WAYS)
def test_another_way_of_rounding_fails(case: str, judged: Judged) -> None:
    right = (DEMO / "solutions" / "surcharge-booking" / RATES).read_text()
    old, new = WAYS[case]
    assert old in right
    assert judged("surcharge-booking", {RATES: right.replace(old, new)}) == "failed"


def test_a_right_change_that_breaks_the_projects_tests_fails(judged: Judged) -> None:
    right = (DEMO / "solutions" / "surcharge-booking" / RATES).read_text()
    assert judged("surcharge-booking", {RATES: right}) == "passed"
    renamed = right.replace("line_surcharge(", "exact_surcharge(")
    assert judged("surcharge-booking", {RATES: renamed}) == "failed"
