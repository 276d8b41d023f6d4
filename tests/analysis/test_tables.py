"""The tables: paired data meet a paired test, clusters a cluster test, and nothing vanishes."""

from __future__ import annotations

import csv
from fractions import Fraction
from pathlib import Path

import pytest
from analysis.support import ReceiptsBuilder, make_cohort, planned

from benchlib.analysis import frames, tables
from benchlib.analysis.emission import declared_rows
from benchlib.analysis.frames import load
from benchlib.analysis.table_files import Cell, Table, build_table

CASES = Path(__file__).parents[1] / "cases" / "analysis"


def made(receipts: frames.Receipts, name: str, **settings: int) -> Table:
    """Return a table as a plan would emit it."""
    frame = getattr(tables, name)(receipts, **settings)
    output = tables.OUTPUTS[name]
    return build_table("test", output, declared_rows(output, frame), "a" * 64)


def every(receipts: frames.Receipts) -> dict[str, Table]:
    return {
        name: made(receipts, name, **({"alpha_ppm": 50_000} if name in {"arms", "summary"} else {}))
        for name in tables.OUTPUTS
    }


def overall(receipts: frames.Receipts, comparison: str) -> dict[str, Cell]:
    rows = made(receipts, "paired").records()
    return next(
        row for row in rows if row["comparison"] == comparison and row["challenge"] == "(all)"
    )


@pytest.mark.parametrize(
    ("name", "gained", "lost", "exact", "shown"),
    [
        ("pairs_a.csv", 6, 0, Fraction(1, 32), "0.0313"),
        ("pairs_b.csv", 7, 1, Fraction(9, 128), "0.0704"),
    ],
)
def test_paired_data_meet_the_exact_paired_test(
    tmp_path: Path, name: str, gained: int, lost: int, exact: Fraction, shown: str
) -> None:
    with (CASES / name).open() as file:
        rows = list(csv.DictReader(file))
    pairs = tuple(planned(f"p-{row['task']}", row["task"]) for row in rows)
    builder = ReceiptsBuilder(tmp_path / "in", make_cohort(pairs))
    for pair, row in zip(pairs, rows, strict=True):
        builder.outcome(pair, int(row["control"]), int(row["memory"]))
    row = overall(load(builder.root), "populated against none")
    assert (row["gained"], row["lost"], row["method"]) == (gained, lost, "mcnemar-exact")
    cell = row["p_exact"]
    assert (str(exact.numerator), str(exact.denominator)) == (cell.n, cell.d)  # type: ignore[union-attr] # a fraction
    assert row["p"] == shown


def test_no_table_offers_a_difference_of_two_independent_intervals() -> None:
    names = {column.name for output in tables.OUTPUTS.values() for column in output.columns}
    assert not {name for name in names if "difference" in name}


def clustered(tmp_path: Path, questions: int) -> frames.Receipts:
    pairs = tuple(
        planned(f"p-{question}-{number}", f"q{question}")
        for question in range(questions)
        for number in (1, 2)
    )
    builder = ReceiptsBuilder(tmp_path / "in", make_cohort(pairs))
    for pair in pairs:
        builder.outcome(pair, 0, 1)
    return load(builder.root)


def test_repeated_attempts_at_a_question_are_one_cluster(tmp_path: Path) -> None:
    row = overall(clustered(tmp_path, 6), "populated against none")
    assert (row["method"], row["units"], row["pairs"]) == ("cluster-permutation", 6, 12)
    assert (row["p"], row["least_p"]) == (
        "0.0313",
        "0.0313",
    )  # 2 / 2^6; 12 pairs would say 2 / 2^12


def test_fewer_than_five_questions_give_no_p(tmp_path: Path) -> None:
    row = overall(clustered(tmp_path, 4), "populated against none")
    assert (row["p"], row["p_exact"], row["reason"]) == (None, None, "exploratory")
    assert (row["gained"], row["units"]) == (8, 4)


def test_pairs_without_a_discordant_one_say_so(tmp_path: Path) -> None:
    pairs = tuple(planned(f"p{number}", f"q{number}") for number in range(6))
    builder = ReceiptsBuilder(tmp_path / "in", make_cohort(pairs))
    for pair in pairs:
        builder.outcome(pair, 1, 1)
    row = overall(load(builder.root), "populated against none")
    assert (row["p"], row["reason"]) == ("1.0000", "no-discordant-pairs")


def test_a_rate_has_its_exact_interval_and_repeated_questions_have_none(
    demo: ReceiptsBuilder,
) -> None:
    rows = made(load(demo.root), "arms", alpha_ppm=50_000).records()
    by_key = {(row["comparison"], row["challenge"], row["arm"]): row for row in rows}
    one = by_key["populated against none", "rename", "treatment"]
    assert (one["attempts"], one["passes"]) == (3, 3)
    assert (one["lower"], one["upper"]) == ("0.2924", "1.0000")  # 0.025^(1/3), rounded down
    every_one = by_key["populated against none", "(all)", "treatment"]
    assert (every_one["attempts"], every_one["lower"]) == (6, None)
    assert every_one["reason"] == "repeated-questions"


def test_the_level_of_intervals_follows_the_parameter(demo: ReceiptsBuilder) -> None:
    def lower(alpha_ppm: int) -> Cell:
        rows = made(load(demo.root), "arms", alpha_ppm=alpha_ppm).records()
        return next(row["lower"] for row in rows if row["passes"] and row["lower"])

    assert lower(50_000) == "0.2924"
    assert lower(10_000) == "0.1709"


def test_every_state_of_an_attempt_is_counted_also_at_zero(demo: ReceiptsBuilder) -> None:
    rows = made(load(demo.root), "attempts").records()
    counts = {
        str(r["state"]): r["count"] for r in rows if r["comparison"] == "populated against none"
    }
    assert counts == {
        "attempts-counted": 6,
        "attempts-interrupted": 0,
        "attempts-open": 0,
        "attempts-started": 7,
        "attempts-superseded": 0,
        "attempts-void": 1,
        "pairs-planned": 6,
        "pairs-started": 6,
        "pairs-with-outcome": 6,
    }


def test_the_three_facts_are_crossed(demo: ReceiptsBuilder) -> None:
    rows = made(load(demo.root), "facts").records()
    assert [tuple(row.values()) for row in rows] == [
        ("empty against none", "no", "no", "both-failed", 6),
        ("populated against none", "yes", "yes", "gained", 6),
    ]


def test_costs_are_sums_and_exact_means(demo: ReceiptsBuilder) -> None:
    rows = made(load(demo.root), "costs").records()
    treatment = next(row for row in rows if row["arm"] == "treatment")
    assert treatment["input_tokens"] == 600
    assert (treatment["mean_tokens"], treatment["mean_steps"]) == ("120.0", "6.00")
    assert treatment["mean_seconds"] == "1.500"


def test_tokens_that_nobody_metered_are_not_zero(demo: ReceiptsBuilder) -> None:
    pair = demo.cohort.pairs[0]
    arms = {
        name: demo.arm(pair, "a3", name, reward=1, usage=None, steps=None)
        for name in ("control", "treatment")
    }
    demo.pair(pair, "a3", **arms)
    rows = made(load(demo.root), "costs").records()
    treatment = next(
        row
        for row in rows
        if row["comparison"] == "populated against none" and row["arm"] == "treatment"
    )
    assert (treatment["attempts"], treatment["without_usage"]) == (6, 1)
    assert (treatment["input_tokens"], treatment["mean_tokens"]) == (500, "120.0")


def one_arm_only(builder: ReceiptsBuilder) -> None:
    for pair in builder.cohort.pairs:
        builder.pair(pair, control=builder.arm(pair, "a1", "control", reward=1))


def all_void(builder: ReceiptsBuilder) -> None:
    for pair in builder.cohort.pairs:
        arms = {
            name: builder.arm(pair, "a1", name, reason="timeout")
            for name in ("control", "treatment")
        }
        builder.pair(pair, **arms)


def all_passed(builder: ReceiptsBuilder) -> None:
    for pair in builder.cohort.pairs:
        builder.outcome(pair, 1, 1)


def one_pair(builder: ReceiptsBuilder) -> None:
    builder.outcome(builder.cohort.pairs[0], 0, 1)


def nothing(_: ReceiptsBuilder) -> None:
    """Nothing was run."""


@pytest.mark.parametrize("fill", [nothing, one_pair, all_void, one_arm_only, all_passed])
def test_a_cohort_with_little_in_it_has_all_its_tables(tmp_path: Path, fill: object) -> None:
    pairs = tuple(planned(f"p{number}", f"q{number}") for number in range(2))
    builder = ReceiptsBuilder(tmp_path / "in", make_cohort(pairs))
    fill(builder)  # type: ignore[operator] # one of the above
    found = every(load(builder.root))
    assert set(found) == set(tables.OUTPUTS)
    text = b"".join(table.canonical() for table in found.values()).decode()
    assert not {"nan", "inf", "None", "<NA>"} & set(text.replace('"', " ").split())
