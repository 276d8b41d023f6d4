"""The exact statistics against scipy and statsmodels, interleaved in one run.

Where the only referee is an R package, the yardstick is scipy's interval of 14 out of 20
(``binomtest``), and the target is the stated one in that unit: ExactCIdiff takes 3,558 ms
at 20 pairs and powerPaired2x2 62 ms at 20, against 1.8 ms of the yardstick.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from scipy import stats as scipy_stats
from statsmodels.stats.contingency_tables import mcnemar

from benchlib import stats

Row = tuple[str, str, str, str, float, str]
Job = Callable[[], object]


def _yardstick() -> object:
    return scipy_stats.binomtest(14, 20).proportion_ci(method="exact")


def _milliseconds(ours: Job, theirs: Job, repeats: int) -> tuple[float, float]:
    """Return medians of processor time, taken in turns: a busy machine changes neither much."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats):
        for job, spent in zip((ours, theirs), times, strict=True):
            started = time.process_time()
            job()
            spent.append((time.process_time() - started) * 1e3)
    return statistics.median(times[0]), statistics.median(times[1])


def _row(what: str, ours: Job, referee: str, theirs: Job, most: float, repeats: int = 9) -> Row:
    mine, other = _milliseconds(ours, theirs, repeats)
    return (what, f"{mine:.3g} ms", referee, f"{other:.3g} ms", mine / other, f"<= {most:g}")


def _against_yardstick(what: str, ours: Job, most: float, repeats: int = 3) -> Row:
    return _row(what, ours, "scipy binomtest(14, 20)", _yardstick, most, repeats)


def _rates() -> Iterator[Row]:
    for n, most in ((20, 5), (200, 5), (2000, 5), (100_000, 90)):
        k = 7 * n // 10
        ours = partial(stats.binomial_interval, successes=k, attempts=n)
        theirs = partial(_scipy_interval, k, n)
        repeats = 3 if n > 2000 else 25
        yield _row(f"binomial_interval, n = {n}", ours, "scipy binomtest", theirs, most, repeats)


def _scipy_interval(k: int, n: int) -> object:
    return scipy_stats.binomtest(k, n).proportion_ci(method="exact")


def _discordant() -> Iterator[Row]:
    # A fifth of the pairs gained and a tenth lost.
    for n, most in ((20, 1), (200, 1), (2000, 3)):
        b, c = n // 5, n // 10
        ours = partial(stats.mcnemar_test, gained=b, lost=c)
        theirs = partial(mcnemar, [[n - b - c, b], [c, 0]], exact=True)
        yield _row(f"mcnemar_test, n = {n}", ours, "statsmodels mcnemar", theirs, most, 41)


def _measures() -> Iterator[Row]:
    for n, most in ((20, 1), (50, 1), (200, 12), (500, 40)):
        # Two of each magnitude: every rank is half a whole number.
        diffs = [(at // 2 + 1) * (-1 if at % 3 == 0 else 1) for at in range(n)]
        theirs = partial(scipy_stats.wilcoxon, diffs, method="exact")
        ours = partial(stats.wilcoxon_signed_rank, diffs)
        what = f"wilcoxon_signed_rank, half ranks, n = {n}"
        yield _row(
            what, ours, "scipy wilcoxon exact, ties ignored", theirs, most, 5 if n > 50 else 41
        )


def _scipy_flips(diffs: list[int], resamples: float) -> object:
    return scipy_stats.permutation_test(
        (np.array(diffs),),
        np.sum,
        permutation_type="samples",
        n_resamples=resamples,
        vectorized=True,
        rng=np.random.default_rng(1),
    )


def _permutations() -> Iterator[Row]:
    for n in (10, 15, 18):
        diffs = [(7919 * (at + 3) ** 5) % 10_000_019 - 4_000_000 for at in range(n)]
        ours = partial(stats.paired_permutation_test, diffs)
        theirs = partial(_scipy_flips, diffs, np.inf)
        what = f"paired_permutation_test, large integers, n = {n}"
        yield _row(what, ours, "scipy permutation_test, all flips", theirs, 0.05, 3)
    diffs = [(7919 * (at + 3) ** 3) % 2001 - 900 for at in range(200)]
    ours = partial(stats.paired_permutation_test, diffs)
    theirs = partial(_scipy_flips, diffs, 9999)
    what = "paired_permutation_test, within 1,000, n = 200"
    yield _row(what, ours, "scipy permutation_test, 9,999 sampled", theirs, 1.5, 5)


def _unrivalled() -> Iterator[Row]:
    diffs = [(7919 * (at + 3) ** 3) % 2001 - 900 for at in range(200)]
    yield _against_yardstick("hodges_lehmann, n = 200", partial(stats.hodges_lehmann, diffs), 40)
    table = {"gained": 30, "lost": 15, "pairs": 200}
    unconditional = partial(stats.paired_unconditional_test, **table)
    yield _against_yardstick("paired_unconditional_test, n = 200", unconditional, 20)
    interval = stats.paired_difference_interval
    few = partial(interval, gained=6, lost=2, pairs=20)
    yield _against_yardstick("paired_difference_interval, n = 20", few, 0.1 * 3558 / 1.8)
    yield _against_yardstick(
        "paired_difference_interval, n = 200", partial(interval, **table), 2000, 1
    )
    for pairs, most in ((20, 0.1 * 62 / 1.8), (2000, 400.0)):
        power = partial(stats.mcnemar_power, pairs=pairs, p_gained="0.3", p_lost="0.05")
        yield _against_yardstick(f"mcnemar_power, n = {pairs}", power, most)
    size = partial(stats.mcnemar_sample_size, p_gained="0.2", p_lost="0.08")
    found = size().n_stable
    yield _against_yardstick(f"mcnemar_sample_size, {found} pairs", size, 150)


def rows() -> list[Row]:
    """Return the measurements of this file."""
    parts = (_rates(), _discordant(), _measures(), _permutations(), _unrivalled())
    return [row for part in parts for row in part]
