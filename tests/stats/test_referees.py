"""Agreement with scipy and statsmodels where they compute the same thing, and where they don't."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats as scipy_stats
from statsmodels.stats import contingency_tables, multitest, proportion

from benchlib import stats


@pytest.mark.parametrize("n", [1, 2, 10, 37, 200, 1500])
@pytest.mark.parametrize("level", ["0.8", "0.95", "0.999"])
def test_clopper_pearson_agrees_with_scipy_and_statsmodels(n: int, level: str) -> None:
    for k in {0, 1, n // 3, n // 2, n - 1, n}:
        found = stats.binomial_interval(successes=k, attempts=n, level=level)
        scipy_interval = scipy_stats.binomtest(k, n).proportion_ci(float(level), method="exact")
        beta = proportion.proportion_confint(k, n, 1 - float(level), method="beta")
        assert float(found.lower) == pytest.approx(scipy_interval.low, abs=1e-11)
        assert float(found.upper) == pytest.approx(scipy_interval.high, abs=1e-11)
        assert (float(found.lower), float(found.upper)) == pytest.approx(beta, abs=1e-12)


@pytest.mark.parametrize("p0", ["0.15", "1/3", "0.5"])
def test_the_minlike_convention_is_that_of_scipy(p0: str) -> None:
    for n, k in ((12, 3), (39, 7), (215, 39)):
        found = stats.binomial_test(successes=k, attempts=n, p0=p0, convention="minlike").p
        referee = scipy_stats.binomtest(k, n, float(Fraction(p0))).pvalue
        assert float(found) == pytest.approx(referee, abs=1e-9)


def test_doubling_is_not_the_convention_of_scipy() -> None:
    found = stats.binomial_test(successes=39, attempts=215, p0="0.15")
    assert (found.convention, stats.print_value(found.p, kind="p")) == ("doubling", "0.2357")
    assert round(scipy_stats.binomtest(39, 215, 0.15).pvalue, 4) == 0.2135


def test_mcnemar_agrees_with_statsmodels() -> None:
    for b, c in ((0, 1), (9, 2), (1, 7), (30, 30), (45, 25)):
        referee = contingency_tables.mcnemar([[5, b], [c, 3]], exact=True).pvalue
        assert float(stats.mcnemar_test(gained=b, lost=c).p) == pytest.approx(referee, abs=1e-12)


DIFFS = np.array([49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48])


def test_untied_signed_ranks_agree_with_scipys_exact_table() -> None:
    for alternative in ("two-sided", "greater", "less"):
        referee = scipy_stats.wilcoxon(DIFFS, method="exact", alternative=alternative).pvalue
        found = stats.wilcoxon_signed_rank(DIFFS, alternative=alternative)
        assert float(found.p) == pytest.approx(referee, abs=1e-14)


def test_tied_signed_ranks_agree_with_scipys_permutations_and_not_with_its_table() -> None:
    tied = [1, 1, 2, -2, 3, 3, 3, -1, 4]
    every = scipy_stats.PermutationMethod(n_resamples=np.inf)
    referee = scipy_stats.wilcoxon(tied, method=every).pvalue
    assert float(stats.wilcoxon_signed_rank(tied).p) == pytest.approx(referee, abs=1e-14)


def test_the_permutation_test_agrees_with_all_flips_of_scipy() -> None:
    for alternative in ("two-sided", "greater", "less"):
        referee = scipy_stats.permutation_test(
            (DIFFS,),
            np.sum,
            permutation_type="samples",
            n_resamples=np.inf,
            alternative=alternative,
            vectorized=True,
        ).pvalue
        found = stats.paired_permutation_test(DIFFS, alternative=alternative)
        assert float(found.p) == pytest.approx(referee, abs=1e-14)


def test_holm_agrees_with_statsmodels() -> None:
    values = [0.01, 0.04, 0.03, 0.005, 0.5, 0.5, 0.012]
    referee = multitest.multipletests(values, method="holm")[1]
    assert [float(p) for p in stats.holm(values).adjusted] == pytest.approx(list(referee))


def test_one_stratum_is_fishers_exact_test() -> None:
    for row in ((4, 5, 1, 5), (3, 9, 7, 8), (0, 4, 4, 4)):
        table = [[row[0], row[1] - row[0]], [row[2], row[3] - row[2]]]
        for alternative in ("greater", "less"):
            referee = scipy_stats.fisher_exact(table, alternative=alternative).pvalue
            found = stats.stratified_exact_test([row], alternative=alternative)
            assert float(found.p) == pytest.approx(referee, abs=1e-12)
        referee = scipy_stats.fisher_exact(table).pvalue
        found = stats.stratified_exact_test([row], convention="minlike")
        assert float(found.p) == pytest.approx(referee, abs=1e-9)


def test_the_two_families_can_disagree_and_say_so_by_name() -> None:
    conditional = stats.mcnemar_test(gained=9, lost=2)
    unconditional = stats.paired_unconditional_test(gained=9, lost=2, pairs=41)
    interval = stats.paired_difference_interval(gained=9, lost=2, pairs=41)
    assert conditional.p == Fraction(67, 1024)
    assert stats.print_value(unconditional.p, kind="p") == "0.0406"
    assert interval.lower > 0
