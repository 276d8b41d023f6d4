"""Case 12: what may share a line. The case's fields are laid onto ours."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from benchlib.contracts.pair import ComparabilityKey
from benchlib.records.comparability import key_differences


def _sha256(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _key(case: dict[str, object]) -> ComparabilityKey:
    memory, control = case["conditions"]  # type: ignore[misc]
    return ComparabilityKey(
        challenge_sha256=_sha256(case["challenge"]),
        fixture_sha256=_sha256(case["fixture"]),
        model=str(case["model"]),
        agent="command",
        control_sha256=_sha256(control),
        treatment_sha256=_sha256(memory),
        manifest_sha256=_sha256(case["manifest_sha256"]),
        verifier_sha256=_sha256(case["verifier_sha256"]),
        source_commit=hashlib.sha1(str(case["source_commit"]).encode()).hexdigest(),
        limits_sha256=_sha256(case["limits"]),
    )


@pytest.mark.parametrize(
    ("variant", "field"),
    [
        ("other build", None),
        ("same, keys in another order", None),
        ("other verifier", "verifier_sha256"),
        ("other model snapshot", "model"),
        ("other cap", "limits_sha256"),
    ],
)
def test_only_the_build_under_test_may_differ_on_one_line(
    repository: Path, variant: str, field: str | None
) -> None:
    case = json.loads((repository / "tests/cases/apparatus/keys.json").read_text())
    changes = next(one["set"] for one in case["variants"] if one["name"] == variant)
    base, other = _key(case["base"]), _key({**case["base"], **changes})
    named = [words.split(":")[0] for words in key_differences(base, other)]
    assert named == ([field] if field else [])
    if field:
        values = key_differences(base, other)[0]
        assert str(getattr(base, field)) in values
        assert str(getattr(other, field)) in values
