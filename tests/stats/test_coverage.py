"""Coverage by enumeration: never below the level, at any rate on a fine grid."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from stats.enumeration import binomial_floats, flips, table_chance, tables

from benchlib import stats

ROUNDING = 1e-9
LEVELS = ("0.9", "0.95", "0.99")


def rate_coverage(n: int, level: str, method: str, steps: int = 400) -> float:
    """Return the least coverage over a grid of rates, and just beside every limit."""
    limits = [
        (float(found.lower), float(found.upper))
        for found in (
            stats.binomial_interval(successes=k, attempts=n, level=level, method=method)
            for k in range(n + 1)
        )
    ]
    # Coverage falls where a rate leaves an interval: beside the limits, not between them.
    edges = [edge + side for pair in limits for edge in pair for side in (-1e-9, 1e-9)]
    rates = [at / steps for at in range(steps + 1)] + [rate for rate in edges if 0 < rate < 1]
    return min(
        sum(
            chance
            for chance, (low, high) in zip(binomial_floats(n, rate), limits, strict=True)
            if low <= rate <= high
        )
        for rate in rates
    )


@pytest.mark.slow
@pytest.mark.parametrize("n", range(1, 61))
def test_clopper_pearson_covers_at_every_rate(n: int) -> None:
    assert rate_coverage(n, "0.95", "clopper-pearson") >= 0.95 - ROUNDING


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("n", [1, 7, 20])
def test_clopper_pearson_covers_at_other_levels(n: int, level: str) -> None:
    assert rate_coverage(n, level, "clopper-pearson") >= float(level) - ROUNDING


@pytest.mark.slow
@pytest.mark.parametrize("n", [*range(1, 21), 30, 45, 60])
def test_blaker_covers_at_every_rate(n: int) -> None:
    assert rate_coverage(n, "0.95", "blaker") >= 0.95 - ROUNDING


def test_the_mid_p_interval_does_not_cover_and_says_so() -> None:
    least = {n: rate_coverage(n, "0.95", "mid-p") for n in (5, 10, 20, 40)}
    assert all(0.90 < coverage < 0.95 for coverage in least.values())
    found = stats.binomial_interval(successes=1, attempts=5, method="mid-p")
    assert "not guaranteed" in found.note


@pytest.mark.parametrize("k", range(13))
@pytest.mark.parametrize("level", LEVELS)
def test_blaker_and_mid_p_lie_inside_clopper_pearson(k: int, level: str) -> None:
    wide, blaker, mid = (
        stats.binomial_interval(successes=k, attempts=12, level=level, method=method)
        for method in ("clopper-pearson", "blaker", "mid-p")
    )
    for narrow in (blaker, mid):
        assert wide.lower <= narrow.lower <= narrow.upper <= wide.upper


def difference_limits(n: int, level: str) -> dict[tuple[int, int], tuple[float, float]]:
    """Return the limits of all tables; those with b < c are mirrors, as a test below shows."""
    found = {}
    for b, c in tables(n):
        if b >= c:
            interval = stats.paired_difference_interval(gained=b, lost=c, pairs=n, level=level)
            found[b, c] = (float(interval.lower), float(interval.upper))
            found[c, b] = (-float(interval.upper), -float(interval.lower))
    return found


def least_difference_coverage(n: int, level: str, points: int = 41) -> float:
    """Return the least coverage over a grid of differences and discordances."""
    limits = difference_limits(n, level)
    least = 1.0
    for at, by in itertools.product(range(points), range(points)):
        delta = -1.0 + 2.0 * at / (points - 1)
        phi = abs(delta) + (1.0 - abs(delta)) * by / (points - 1)
        gain, loss = (phi + delta) / 2.0, max(0.0, (phi - delta) / 2.0)
        covered = sum(
            table_chance(b, c, n, gain, loss)
            for (b, c), (low, high) in limits.items()
            if low <= delta <= high
        )
        least = min(least, covered)
    return least


@pytest.mark.parametrize(("n", "level"), [(4, "0.8"), (4, "0.95"), (6, "0.9"), (8, "0.95")])
def test_the_risk_difference_covers_for_every_table_probability(n: int, level: str) -> None:
    assert least_difference_coverage(n, level) >= float(level) - 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("n", [12, 16, 20])
def test_the_risk_difference_covers_up_to_20_pairs(n: int) -> None:
    assert least_difference_coverage(n, "0.95") >= 0.95 - 1e-6


@pytest.mark.parametrize("n", range(1, 13))
@pytest.mark.parametrize("level", LEVELS)
def test_the_median_interval_attains_the_coverage_that_it_states(n: int, level: str) -> None:
    """Distinct magnitudes around a median of 0, all signs equally likely."""
    values = [Fraction(at * at + 1) for at in range(n)]
    samples = [stats.median_interval(signs, level=level) for signs in flips(values)]
    covered = sum(sample.lower <= 0 <= sample.upper for sample in samples)
    assert Fraction(covered, len(samples)) == samples[0].coverage
    assert samples[0].coverage >= Fraction(level)


@pytest.mark.parametrize("values", [[0, 1, 1, 2, 2, 2, 5], [0, 0, 0, 3, 3, 1], [1, 2, 3, 4, 5, 6]])
def test_the_hodges_lehmann_interval_covers_symmetric_differences_with_ties(
    values: list[int],
) -> None:
    terms = [Fraction(value) for value in values]
    samples = [stats.hodges_lehmann(signs, level="0.9") for signs in flips(terms)]
    covered = sum(sample.lower <= 0 <= sample.upper for sample in samples)
    assert Fraction(covered, len(samples)) >= samples[0].coverage >= Fraction(9, 10)
