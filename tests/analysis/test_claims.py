"""What may be said of each planned claim: its own test, its whole family, and who is missing."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis.support import ReceiptsBuilder, make_cohort, over_all, planned
from analysis.test_tables import made
from pydantic import ValidationError

from benchlib.analysis.frames import load
from benchlib.analysis.table_files import Cell
from benchlib.contracts.cohort import PlannedEndpoint

Row = dict[str, Cell]


def claim(**changes: object) -> PlannedEndpoint:
    values = {
        "id": "solved",
        "hypothesis": "Memory changes which tasks are solved.",
        "challenges": ("explain", "rename"),
        "lines": "per-challenge",
        "family": "conditional",
    }
    return PlannedEndpoint(**{**values, **changes})  # type: ignore[arg-type] # by name


def cohort_of(tmp_path: Path, *endpoints: PlannedEndpoint, pairs: int = 6) -> ReceiptsBuilder:
    """Plan as many pairs at each of two challenges, against one condition with memory."""
    names = ("explain", "rename")
    planned_pairs = tuple(planned(f"{name}-{n}", name) for name in names for n in range(pairs))
    return ReceiptsBuilder(tmp_path / "in", make_cohort(planned_pairs, *endpoints))


def summary(builder: ReceiptsBuilder) -> dict[tuple[Cell, Cell], Row]:
    rows = made(load(builder.root), "summary", alpha_ppm=50_000).records()
    return {(row["endpoint"], row["challenge"]): row for row in rows}


def test_a_claim_per_challenge_has_a_line_for_each_and_p_is_adjusted_over_them(
    tmp_path: Path,
) -> None:
    builder = cohort_of(tmp_path, claim())
    for pair in builder.cohort.pairs:
        builder.outcome(pair, 0, int(pair.challenge == "rename"))
    rows = summary(builder)
    rename, explain = rows["solved", "rename"], rows["solved", "explain"]
    assert (rename["gained"], rename["p"], rename["adjusted_p"]) == (6, "0.0313", "0.0625")
    assert (explain["gained"], explain["p"], explain["adjusted_p"]) == (0, "1.0000", "1.0000")
    assert str(rename["reading"]).startswith("not shown to differ: p = 0.0313, adjusted 0.0625")


def test_a_planned_test_that_was_not_run_counts_in_the_adjustment(tmp_path: Path) -> None:
    builder = cohort_of(tmp_path, claim())
    for pair in builder.cohort.pairs:
        if pair.challenge == "rename":
            builder.outcome(pair, 0, 1)
    rows = summary(builder)
    assert rows["solved", "rename"]["adjusted_p"] == "0.0625"
    missing = rows["solved", "explain"]
    assert (missing["planned"], missing["started"], missing["p"]) == (6, 0, None)
    assert missing["reading"] == "No pair has an outcome, so nothing can be said."


def test_over_several_questions_a_repeated_one_is_a_cluster(tmp_path: Path) -> None:
    builder = cohort_of(tmp_path, over_all(("explain", "rename")))
    for pair in builder.cohort.pairs:
        builder.outcome(pair, 0, 1)
    row = summary(builder)["solved", "(all)"]
    assert (row["admitted"], row["p"]) == (12, None)
    assert "exploratory: fewer than five measured" in str(row["reading"])


def test_no_bound_of_discordance_is_given_where_questions_repeat(tmp_path: Path) -> None:
    builder = cohort_of(tmp_path, over_all(("explain", "rename")))
    for pair in builder.cohort.pairs:
        builder.outcome(pair, 1, 1)
    assert "of pairs disagree" not in str(summary(builder)["solved", "(all)"]["reading"])


def test_that_memory_does_no_harm_is_a_claim_with_its_own_margin(tmp_path: Path) -> None:
    no_harm = claim(
        id="no-harm",
        challenges=("rename",),
        question="noninferiority",
        family="unconditional",
        margin_ppm=500_000,
    )
    builder = cohort_of(tmp_path, claim(), no_harm)
    for pair in builder.cohort.pairs:
        builder.outcome(pair, 1, 1)
    rows = summary(builder)
    assert rows["no-harm", "rename"]["p"] == "0.0157"  # (1 - 1/2)^6, rounded up
    assert str(rows["no-harm", "rename"]["reading"]).startswith(
        "no discordant pairs: at most 0.4593 of pairs disagree; loses less than the planned margin"
    )
    assert "not shown to differ" in str(rows["solved", "rename"]["reading"])


def test_a_pair_that_lost_one_arm_is_counted_and_bounds_the_difference(tmp_path: Path) -> None:
    builder = cohort_of(tmp_path, claim(challenges=("rename",)))
    *most, last = [pair for pair in builder.cohort.pairs if pair.challenge == "rename"]
    for pair in most:
        builder.outcome(pair, 0, 1)
    builder.pair(
        last,
        control=builder.arm(last, "a1", "control", reward=1),
        treatment=builder.arm(last, "a1", "treatment", reason="provider-failed"),
    )
    row = summary(builder)["solved", "rename"]
    assert (row["planned"], row["started"], row["admitted"], row["void"]) == (6, 6, 5, 1)
    # Five gained; the sixth was solved without memory: lost at worst, the same at best.
    assert (row["at_worst"], row["at_best"]) == ("0.6666", "0.8334")


def test_an_attempt_without_a_receipt_is_undecided(tmp_path: Path) -> None:
    builder = cohort_of(tmp_path, claim(challenges=("rename",)))
    first, *others = [pair for pair in builder.cohort.pairs if pair.challenge == "rename"]
    for pair in others:
        builder.outcome(pair, 0, 1)
    (builder.root / "receipts" / first.id / "a1").mkdir(parents=True)
    row = summary(builder)["solved", "rename"]
    assert (row["started"], row["admitted"], row["undecided"]) == (6, 5, 1)


def test_repeated_questions_are_refused_as_independent_pairs_before_money_is_spent(
    tmp_path: Path,
) -> None:
    with pytest.raises(ValidationError, match="not independent pairs"):
        cohort_of(tmp_path, claim(lines="overall"))
    assert cohort_of(tmp_path, claim(lines="overall"), pairs=1).cohort.analysis.endpoints


def test_the_latest_valid_attempt_speaks_for_its_pair(demo: ReceiptsBuilder) -> None:
    rows = made(load(demo.root), "summary", alpha_ppm=50_000).records()
    populated = next(row for row in rows if row["comparison"] == "populated against none")
    assert (populated["started"], populated["admitted"], populated["void"]) == (6, 6, 0)
