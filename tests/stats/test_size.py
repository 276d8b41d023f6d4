"""The size of every test, enumerated: at no attainable alpha are there too many rejections."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from fractions import Fraction

import pytest
from stats.enumeration import HALF, ONE, binomial, flips, table_chance, tables

from benchlib import stats

ALTERNATIVES = ("two-sided", "greater", "less")


def assert_holds_its_level(chances_and_ps: Iterable[tuple[Fraction, Fraction]]) -> None:
    """P(p <= alpha) <= alpha at every alpha that some outcome attains."""
    rejected = Fraction(0)
    outcomes = sorted(chances_and_ps, key=lambda pair: pair[1])
    for alpha, group in itertools.groupby(outcomes, key=lambda pair: pair[1]):
        rejected += sum(chance for chance, _ in group)
        assert rejected <= alpha


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("m", [1, 2, 7, 20, 30])
def test_mcnemar_holds_its_level(m: int, alternative: str) -> None:
    ps = [stats.mcnemar_test(gained=b, lost=m - b, alternative=alternative).p for b in range(m + 1)]
    assert_holds_its_level(zip(binomial(m, HALF), ps, strict=True))


@pytest.mark.parametrize("convention", ["doubling", "minlike", "blaker"])
@pytest.mark.parametrize("p0", ["0", "1/20", "1/3", "1/2", "9/10", "1"])
@pytest.mark.parametrize("n", [1, 5, 12, 30])
def test_the_binomial_test_holds_its_level(n: int, p0: str, convention: str) -> None:
    ps = [
        stats.binomial_test(successes=k, attempts=n, p0=p0, convention=convention).p
        for k in range(n + 1)
    ]
    assert_holds_its_level(zip(binomial(n, Fraction(p0)), ps, strict=True))


DIFFERENCES = [[1, 2, 3, 4, 5, 6], [1, 1, 2, 2, 2, 0], [0, 0, 3, 3, 3, 7], [5, 100, 3, 3, 9, 9]]


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("values", DIFFERENCES, ids=str)
@pytest.mark.parametrize(
    "procedure",
    [stats.sign_test, stats.wilcoxon_signed_rank, stats.paired_permutation_test],
    ids=lambda f: f.__name__,
)
def test_a_test_of_measures_holds_its_level(procedure, values, alternative) -> None:  # noqa: ANN001 - one signature of three functions
    patterns = list(flips([Fraction(value) for value in values]))
    ps = [procedure(pattern, alternative=alternative).p for pattern in patterns]
    assert_holds_its_level((Fraction(1, len(ps)), p) for p in ps)


@pytest.mark.parametrize("weight", ["mean", "total"])
def test_the_cluster_test_holds_its_level(weight: str) -> None:
    clusters = [[1, 1, 0], [1], [2, 0], [1, -1, 1], [3, 1]]
    ps = []
    for signs in itertools.product((1, -1), repeat=len(clusters)):
        flipped = [[s * d for d in cluster] for s, cluster in zip(signs, clusters, strict=True)]
        ps.append(stats.cluster_permutation_test(flipped, weight=weight).p)
    assert_holds_its_level((Fraction(1, len(ps)), p) for p in ps)


@pytest.mark.parametrize("convention", ["doubling", "minlike"])
def test_the_stratified_test_holds_its_level_at_any_rates(convention: str) -> None:
    """Two questions of three attempts an arm, each question with a rate of its own."""
    rates = (Fraction(1, 4), Fraction(2, 3))
    cells = list(itertools.product(range(4), repeat=4))
    chances = [binomial(3, rate) for rate in rates]
    outcomes = []
    for t1, c1, t2, c2 in cells:
        strata = [[t1, 3, c1, 3], [t2, 3, c2, 3]]
        chance = chances[0][t1] * chances[0][c1] * chances[1][t2] * chances[1][c2]
        outcomes.append((chance, stats.stratified_exact_test(strata, convention=convention).p))
    assert_holds_its_level(outcomes)


GRID = [at / 40 for at in range(41)]


def rejections(n: int, ps: dict[tuple[int, int], float], alpha: float, delta: float) -> float:
    """Return the largest chance of p <= alpha over a grid of discordances."""
    return max(
        sum(
            table_chance(b, c, n, (phi + delta) / 2, max(0.0, (phi - delta) / 2))
            for (b, c), p in ps.items()
            if p <= alpha
        )
        for phi in [abs(delta) + (1 - abs(delta)) * at for at in GRID]
    )


@pytest.mark.parametrize("delta", ["0", "0.15", "-0.4"])
@pytest.mark.parametrize("n", [1, 4, 9])
def test_the_unconditional_test_holds_its_level_over_all_discordances(n: int, delta: str) -> None:
    ps = {
        (b, c): stats.paired_unconditional_test(gained=b, lost=c, pairs=n, delta0=delta).p
        for b, c in tables(n)
    }
    for alpha in sorted(set(ps.values())):
        assert rejections(n, ps, alpha, float(delta)) <= alpha + 1e-9


def test_the_conditional_test_holds_its_level_over_all_discordances() -> None:
    n = 12
    ps = {(b, c): float(stats.mcnemar_test(gained=b, lost=c).p) for b, c in tables(n)}
    for alpha in sorted(set(ps.values())):
        assert rejections(n, ps, alpha, 0.0) <= alpha + 1e-9


@pytest.mark.parametrize("margin", ["0.1", "0.3"])
@pytest.mark.parametrize("n", [3, 10])
def test_harmlessness_is_claimed_wrongly_no_more_often_than_alpha(n: int, margin: str) -> None:
    at = {
        (b, c): stats.noninferiority_test(gained=b, lost=c, pairs=n, margin=margin).p
        for b, c in tables(n)
    }
    both = {
        (b, c): stats.equivalence_test(gained=b, lost=c, pairs=n, margin=margin).p
        for b, c in tables(n)
    }
    for alpha in (0.01, 0.05, 0.1, 0.2, *sorted(set(at.values()))[:12]):
        assert rejections(n, at, alpha, -float(margin)) <= alpha + 1e-9
        assert rejections(n, both, alpha, -float(margin)) <= alpha + 1e-9
        assert rejections(n, both, alpha, float(margin)) <= alpha + 1e-9


def test_the_step_down_holds_its_level_for_a_whole_family() -> None:
    """All flips of one cohort with two endpoints: the smallest adjusted p is a valid p."""
    endpoints = [[3, 1, 4, 1, 5, 9], [2, 6, 5, 3, 5, 8]]
    smallest = []
    for signs in itertools.product((1, -1), repeat=6):
        flipped = [[s * d for s, d in zip(signs, one, strict=True)] for one in endpoints]
        smallest.append(min(stats.min_p(flipped).adjusted))
    assert_holds_its_level((Fraction(1, len(smallest)), p) for p in smallest)


@pytest.mark.parametrize("looks", [(8, 16, 24), (5, 10, 15, 20), (1, 2, 3), (30, 31)])
@pytest.mark.parametrize("alpha", ["0.05", "0.2", "0.001"])
def test_planned_looks_spend_no_more_than_alpha(looks: tuple[int, ...], alpha: str) -> None:
    spend = [Fraction(at + 1, len(looks)) for at in range(len(looks))]
    assert stats.sequential_boundaries(looks=looks, alpha=alpha, spend=spend).size <= Fraction(
        alpha
    )


@pytest.mark.parametrize("alpha", ["0.5", "0.2", "0.05", "0.01"])
def test_the_evalue_ever_reaches_one_over_alpha_no_more_often_than_alpha(alpha: str) -> None:
    """All paths up to 60 discordant pairs, stopped as soon as the e-value is that large."""
    goal, standing, reached = 1 / Fraction(alpha), {0: ONE}, Fraction(0)
    for m in range(1, 61):
        following: dict[int, Fraction] = {}
        for b, chance in standing.items():
            for gained in (b, b + 1):
                following[gained] = following.get(gained, Fraction(0)) + chance / 2
        crossing = [b for b in following if stats.evalue(gained=b, lost=m - b).e >= goal]
        reached += sum(following.pop(b) for b in crossing)
        standing = following
    assert reached <= Fraction(alpha)
