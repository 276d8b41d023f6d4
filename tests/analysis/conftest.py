"""Fixtures of the analysis tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis.support import Plans, ReceiptsBuilder, make_cohort, planned


@pytest.fixture
def plans(tmp_path: Path) -> Plans:
    """A place for plan notebooks, with a library lock."""
    return Plans(tmp_path / "plans")


@pytest.fixture
def demo(tmp_path: Path) -> ReceiptsBuilder:
    """Two questions with three pairs each, a populated and an empty memory, one void attempt."""
    pairs = tuple(
        planned(f"{challenge}-{treatment}-{number}", challenge, treatment)
        for challenge in ("rename", "explain")
        for treatment in ("populated", "empty")
        for number in (1, 2, 3)
    )
    builder = ReceiptsBuilder(tmp_path / "inputs", make_cohort(pairs))
    for pair in pairs:
        builder.outcome(pair, control=0, treatment=int(pair.treatment == "populated"))
    first = pairs[0]
    builder.pair(
        first,
        "a1",
        control=builder.arm(first, "a1", "control", reward=0),
        treatment=builder.arm(first, "a1", "treatment", reason="provider-failed"),
    )
    builder.outcome(first, 0, 1, "a2")
    return builder
