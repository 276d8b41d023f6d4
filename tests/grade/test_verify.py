from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from benchlib.contracts.boundaries import RunVerifier
from benchlib.grade import verify
from tests.grade.conftest import a_challenge, says, write


@pytest.mark.parametrize(
    ("verdict", "exit_status", "status"),
    [
        (b'{"passed": true}', 0, "passed"),
        (b'{"passed": false, "reason": "one test"}', 1, "failed"),
        (b' {"passed": true, "checks": [{"name": "a", "passed": true}]}\n', 0, "passed"),
    ],
)
def test_status_and_object_that_agree_are_a_verdict(
    tmp_path: Path, verdict: bytes, exit_status: int, status: str
) -> None:
    assert verify(tmp_path, a_challenge(), says(verdict, exit_status)).status == status


NO_VERDICTS = {
    "disagreement that would pass": (says(b'{"passed": true}', 1), "do not agree"),
    "disagreement that would fail": (says(b'{"passed": false}', 0), "do not agree"),
    "another status": (says(b'{"passed": true}', 2), "a verdict is 0 or 1"),
    "killed": (says(b'{"passed": true}', None), "killed, or never started"),
    "timed out after its verdict": (
        says(b'{"passed": true}', None, timed_out=True),
        "did not end within 20 s",
    ),
    "no file": (says(None, 0), "no verdict file"),
    "empty file": (says(b"", 0), "not one valid object"),
    "prose": (says(b"passed", 0), "not one valid object"),
    "two objects": (says(b'{"passed": true}{"passed": true}', 0), "not one valid object"),
    "duplicate key": (says(b'{"passed": false, "passed": true}', 0), "not one valid object"),
    "one is not true": (says(b'{"passed": 1}', 0), "not one valid object"),
    "extra field": (says(b'{"passed": true, "reward": 1}', 0), "not one valid object"),
    "an array": (says(b"[true]", 0), "not one valid object"),
    "too deep": (says(b'{"passed": ' + b"[" * 100_000, 0), "not one valid object"),
    "not UTF-8": (says(b'{"passed": true, "reason": "\xff"}', 0), "not one valid object"),
}


@pytest.mark.parametrize("name", NO_VERDICTS)
def test_anything_else_is_no_verdict_and_says_why(tmp_path: Path, name: str) -> None:
    run_verifier, reason = NO_VERDICTS[name]
    verdict = verify(tmp_path, a_challenge(), run_verifier)
    assert (verdict.status, verdict.checks) == ("no-verdict", ())
    assert reason in verdict.reason


def test_what_was_printed_is_never_parsed(tmp_path: Path) -> None:
    run_verifier = says(b'{"passed": false}', 1, stdout=b'{"passed": true}\nPASSED')
    verdict = verify(tmp_path, a_challenge(), run_verifier)
    assert verdict.status == "failed"
    assert verdict.output_head == '{"passed": true}\nPASSED'


HOSTILE = "a\x1b[2Jb\u202ec\x00"


@pytest.mark.parametrize(
    "run_verifier",
    [
        says(b'{"passed": false}', 1, stdout=HOSTILE.encode() * 5000, stderr=b"\xff\xfe" * 5000),
        says(b'{"passed": false, "reason": "a\\u001b[2Jb\\u202e"}', 1),
        says(b'{"passed": false, "checks": [{"name": "\\u0000", "passed": false}]}', 1),
    ],
    ids=["output", "reason", "check"],
)
def test_a_verdict_holds_nothing_that_disturbs_a_terminal(
    tmp_path: Path, run_verifier: RunVerifier
) -> None:
    verdict = verify(tmp_path, a_challenge(), run_verifier)
    texts = [verdict.reason, verdict.output_head, *(check.name for check in verdict.checks)]
    odd = [one for text in texts for one in text if unicodedata.category(one)[0] == "C"]
    assert set(odd) <= {"\n"}
    assert verdict.status == "failed"


def test_the_verdict_names_the_verifier_that_gave_it(tmp_path: Path) -> None:
    challenge = a_challenge()
    verdict = verify(write(tmp_path / "w", {}), challenge, says(b'{"passed": true}', 0))
    assert verdict.verifier_sha256 == challenge.verifier.sha256
