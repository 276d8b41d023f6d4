"""What must hold for all inputs: mirrors, monotony, order, and test with interval."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stats.enumeration import tables

from benchlib import stats

few = st.integers(0, 40)
levels = st.sampled_from(["0.8", "0.9", "0.95", "0.99"])
differences = st.lists(st.integers(-20, 20), min_size=1, max_size=9)
MIRROR = {"two-sided": "two-sided", "greater": "less", "less": "greater"}
alternatives = st.sampled_from(sorted(MIRROR))
on_differences = st.sampled_from(
    [stats.sign_test, stats.wilcoxon_signed_rank, stats.paired_permutation_test]
)


@given(few, few, alternatives, st.booleans())
def test_exchanging_the_arms_mirrors_mcnemar(b: int, c: int, alternative: str, mid_p: bool) -> None:
    one = stats.mcnemar_test(gained=b, lost=c, alternative=alternative, mid_p=mid_p)
    other = stats.mcnemar_test(gained=c, lost=b, alternative=MIRROR[alternative], mid_p=mid_p)
    assert one.p == other.p


@given(few, few, levels)
def test_exchanging_the_arms_inverts_the_odds_ratio(b: int, c: int, level: str) -> None:
    one = stats.discordant_odds_ratio(gained=b, lost=c, level=level)
    other = stats.discordant_odds_ratio(gained=c, lost=b, level=level)
    if b + c:
        assert float(one.lower) * float(other.upper) == pytest.approx(1) or b == 0
        assert one.lower == 0 if b == 0 else one.lower > 0


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 15), st.data())
def test_exchanging_the_arms_mirrors_the_unconditional_family(n: int, data: st.DataObject) -> None:
    b, c = data.draw(st.sampled_from(list(tables(n))))
    one = stats.paired_difference_interval(gained=b, lost=c, pairs=n)
    other = stats.paired_difference_interval(gained=c, lost=b, pairs=n)
    assert (one.lower, one.upper) == (-other.upper, -other.lower)
    p, q = (
        stats.paired_unconditional_test(gained=x, lost=y, pairs=n, delta0=d, alternative=side).p
        for x, y, d, side in ((b, c, "0.1", "greater"), (c, b, "-0.1", "less"))
    )
    assert p == q


@given(few, st.integers(1, 40), levels, st.sampled_from(["clopper-pearson", "mid-p", "blaker"]))
@settings(deadline=None)
def test_exchanging_success_and_failure_mirrors_a_rate(
    k: int, more: int, level: str, method: str
) -> None:
    n = k + more
    one = stats.binomial_interval(successes=k, attempts=n, level=level, method=method)
    other = stats.binomial_interval(successes=n - k, attempts=n, level=level, method=method)
    assert one.lower == pytest.approx(1 - other.upper, abs=1e-15)
    assert one.lower <= one.estimate <= one.upper


@given(differences, alternatives, on_differences)
def test_exchanging_the_arms_mirrors_a_test_of_measures(values, alternative, procedure) -> None:  # noqa: ANN001 - drawn
    negated = [-value for value in values]
    assert (
        procedure(values, alternative=alternative).p
        == procedure(negated, alternative=MIRROR[alternative]).p
    )


@given(st.data(), differences, alternatives, on_differences)
def test_the_order_of_pairs_changes_nothing(data, values, alternative, procedure) -> None:  # noqa: ANN001 - drawn
    shuffled = data.draw(st.permutations(values))
    assert (
        procedure(values, alternative=alternative).p
        == procedure(shuffled, alternative=alternative).p
    )
    for interval in (stats.median_interval, stats.hodges_lehmann):
        one, other = interval(values), interval(shuffled)
        assert (one.estimate, one.lower, one.upper) == (other.estimate, other.lower, other.upper)


@given(differences, st.fractions(min_value="1/1000", max_value=1000), on_differences)
def test_the_unit_of_a_measure_changes_no_p(values, scale, procedure) -> None:  # noqa: ANN001 - drawn
    assert procedure(values).p == procedure([value * scale for value in values]).p


@given(differences, st.fractions(-5, 5), levels)
def test_a_shift_moves_an_interval_along(values: list[int], by: Fraction, level: str) -> None:
    for interval in (stats.median_interval, stats.hodges_lehmann):
        here, there = interval(values, level=level), interval([v + by for v in values], level=level)
        assert there.estimate == here.estimate + by
        assert there.lower == here.lower + by
        assert there.upper == here.upper + by


@given(few, few)
def test_more_evidence_never_raises_a_one_sided_p(b: int, c: int) -> None:
    p = stats.mcnemar_test(gained=b, lost=c, alternative="greater").p
    assert stats.mcnemar_test(gained=b + 1, lost=c, alternative="greater").p <= p
    if c:
        assert stats.mcnemar_test(gained=b + 1, lost=c - 1, alternative="greater").p <= p


@pytest.mark.parametrize("n", [5, 9])
def test_a_gain_for_a_loss_never_raises_the_unconditional_p(n: int) -> None:
    def p(b: int, c: int) -> float:
        return stats.paired_unconditional_test(
            gained=b, lost=c, pairs=n, alternative="greater"
        ).p  # fmt: skip

    for b, c in tables(n):
        if c:
            assert p(b + 1, c - 1) <= p(b, c) + 1e-9


@given(few, few, levels)
def test_the_odds_ratio_leaves_out_1_exactly_when_mcnemar_rejects(
    b: int, c: int, level: str
) -> None:
    ratio = stats.discordant_odds_ratio(gained=b, lost=c, level=level)
    rejects = stats.mcnemar_test(gained=b, lost=c).p <= 1 - Fraction(level)
    assert rejects == (not ratio.lower <= 1 <= ratio.upper)


@pytest.mark.parametrize("level", ["0.8", "0.95"])
@pytest.mark.parametrize("n", [6, 11])
def test_the_difference_leaves_out_0_whenever_its_test_rejects(n: int, level: str) -> None:
    for b, c in tables(n):
        interval = stats.paired_difference_interval(gained=b, lost=c, pairs=n, level=level)
        p = stats.paired_unconditional_test(gained=b, lost=c, pairs=n).p
        if p <= 1 - float(level):
            is_outside = not interval.lower <= 0 <= interval.upper
            assert is_outside or "carried a limit across 0" in interval.note
        assert interval.lower <= interval.estimate <= interval.upper


@pytest.mark.parametrize("margin", ["0.2", "0.35"])
def test_equivalence_is_the_interval_of_twice_the_error_inside_the_margin(margin: str) -> None:
    n, alpha = 14, Fraction(1, 10)
    for b, c in tables(n):
        if b + c > 5:
            continue
        p = stats.equivalence_test(gained=b, lost=c, pairs=n, margin=margin).p
        interval = stats.paired_difference_interval(
            gained=b, lost=c, pairs=n, level=1 - 2 * alpha
        )  # fmt: skip
        is_inside = max(abs(interval.lower), abs(interval.upper)) < float(margin)
        assert is_inside == (p <= float(alpha))


@settings(deadline=None)
@given(st.lists(st.integers(-9, 9), min_size=1, max_size=9), levels)
def test_the_median_interval_leaves_out_0_only_when_the_sign_test_rejects(
    values: list[int], level: str
) -> None:
    interval = stats.median_interval(values, level=level)
    if not interval.lower <= 0 <= interval.upper:
        assert stats.sign_test(values).p <= 1 - Fraction(level)


@given(st.lists(st.fractions(0, 1), max_size=6), st.data())
def test_holm_is_monotone_above_the_raw_p_and_blind_to_order(
    values: list[Fraction], data: st.DataObject
) -> None:
    adjusted = stats.holm(values).adjusted
    assert all(a >= raw for a, raw in zip(adjusted, values, strict=True))
    pairs = sorted(zip(values, adjusted, strict=True))
    assert [a for _, a in pairs] == sorted(adjusted)
    order = data.draw(st.permutations(range(len(values))))
    assert stats.holm([values[at] for at in order]).adjusted == tuple(adjusted[at] for at in order)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.lists(st.integers(-5, 5), min_size=4, max_size=4), min_size=1, max_size=4))
def test_min_p_is_never_blunter_than_bonferroni(endpoints: list[list[int]]) -> None:
    found = stats.min_p(endpoints)
    for raw, adjusted in zip(found.raw, found.adjusted, strict=True):
        assert raw <= adjusted <= min(1, max(found.adjusted))
    least = min(found.raw)
    assert min(found.adjusted) <= min(1, len(endpoints) * least)


@given(few, few)
def test_an_anytime_p_is_never_below_the_fixed_one(b: int, c: int) -> None:
    assert stats.evalue(gained=b, lost=c).p_anytime >= min(
        1, stats.mcnemar_test(gained=b, lost=c).p
    ) or b + c == 0  # fmt: skip


@given(st.fractions(-10, 10), st.integers(0, 6))
def test_a_printed_interval_covers_at_least_what_was_computed(value: Fraction, digits: int) -> None:
    low = Fraction(stats.print_value(value, digits, kind="lower"))
    high = Fraction(stats.print_value(value, digits, kind="upper"))
    middle = Fraction(stats.print_value(value, digits))
    assert low <= value <= high
    assert high - low <= Fraction(1, 10**digits)
    assert abs(middle - value) <= Fraction(1, 2 * 10**digits)


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 4), st.integers(1, 4),
                          st.integers(0, 4)), min_size=1, max_size=3))  # fmt: skip
def test_exchanging_the_arms_mirrors_the_strata(rows: list[tuple[int, int, int, int]]) -> None:
    strata = [(min(k, n), n, min(j, m), m) for n, k, m, j in rows]
    mirrored = [(j, m, k, n) for k, n, j, m in strata]
    for alternative, other in MIRROR.items():
        one = stats.stratified_exact_test(strata, alternative=alternative)
        assert one.p == stats.stratified_exact_test(mirrored, alternative=other).p
        assert one.least_p <= one.p
