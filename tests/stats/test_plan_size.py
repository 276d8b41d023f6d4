from __future__ import annotations

from fractions import Fraction

import pytest

from benchlib import stats


def test_three_guesses_of_the_discordance_by_default() -> None:
    plan = stats.plan_size(difference="0.25")
    assert [row.discordant for row in plan.rows] == [
        Fraction(1, 4),
        Fraction(7, 20),
        Fraction(9, 20),
    ]
    assert [row.n_stable for row in plan.rows] == sorted(row.n_stable for row in plan.rows)


def test_a_row_is_what_the_procedures_say() -> None:
    (row,) = stats.plan_size(difference="0.25", discordances=["0.35"], price="1.25").rows
    size = stats.mcnemar_sample_size(p_gained="0.3", p_lost="0.05")
    assert (row.n_first, row.n_stable, row.power) == (45, 45, size.power_at_n_stable)
    assert row.price == 45 * Fraction(5, 4)
    assert row.detectable is not None
    assert row.detectable <= 0.25


def test_the_guesses_stop_at_1() -> None:
    rows = stats.plan_size(difference="0.95").rows
    assert [row.discordant for row in rows] == [Fraction(19, 20), Fraction(1)]


def test_the_text_is_a_table_with_a_price_and_a_warning() -> None:
    text = stats.plan_size(difference="0.3", price=2).in_words()
    assert "| discordant | gained | lost | first n | n to plan |" in text
    assert text.count("\n| 0.") == 3
    assert "The discordance is a guess" in text
    assert stats.plan_size(difference="0.3").in_words().count("| - |") == 3


@pytest.mark.parametrize("alternative", ["two-sided", "greater"])
def test_a_plan_re_computes_from_its_own_inputs(alternative: str) -> None:
    plan = stats.plan_size(difference="0.4", alternative=alternative, power="0.9")
    assert stats.plan_size(**dict(plan.inputs)) == plan
    assert stats.plan_size(**dict(plan.inputs)).canonical_json() == plan.canonical_json()
