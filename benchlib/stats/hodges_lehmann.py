"""The typical difference, with the interval that belongs to the signed-rank test."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from fractions import Fraction

from benchlib.stats._flips import require_affordable, slots
from benchlib.stats._numbers import Number, confidence, measured
from benchlib.stats._words import interval_sentence
from benchlib.stats.median_interval import OUT_OF_REACH, RankInterval, middle
from benchlib.stats.result import Limit


def hodges_lehmann(diffs: Iterable[Number], *, level: Number = "0.95") -> RankInterval:
    """Estimate the centre of symmetric differences: the median of all pairwise means.

    The limits are the k-th smallest and the k-th largest of the n(n + 1) / 2 Walsh
    averages, k the largest with 2 P(W <= k - 1) <= 1 - level for untied ranks. For
    discrete symmetric differences the closed interval still covers (Noether 1967).

    Args:
        diffs: Differences of pairs, treatment minus control, one or more; zeros stay in.
        level: Confidence, above 0 and below 1.

    Returns:
        ``coverage`` is what the interval attains; infinite limits with coverage 1 if n is
        too small for the level.

    Raises:
        InputError: No difference, one that is no finite number, ``level`` out of range,
            or more differences than can be counted exactly (some 1,600).

    Source:
        Hodges & Lehmann (1963), Annals of Mathematical Statistics 34, 598-611; Lehmann
        (1975), Nonparametrics; Noether (1967), JASA 62, 184-188.

    Example:
        >>> shift = hodges_lehmann([3, -1, 2, 5, 0, 4])
        >>> str(shift.estimate), str(shift.lower), str(shift.upper), str(shift.coverage)
        ('2', '-1', '5', '31/32')
    """
    place = "hodges_lehmann"
    read = measured(place, "diffs", diffs)
    alpha = 1 - confidence(place, level)
    n = len(read)
    require_affordable(place, "diffs", range(1, n + 1))
    k, missed = _rank(n, alpha)
    scale = math.lcm(*(d.denominator for d in read))
    units = [int(d * scale) for d in read]
    walsh = sorted(a + b for a, b in itertools.combinations_with_replacement(units, 2))
    ends = [walsh[(len(walsh) - 1) // 2], walsh[len(walsh) // 2]]
    interval: tuple[Fraction, Limit, Limit] = (
        middle([Fraction(end, 2 * scale) for end in ends]),
        Fraction(walsh[k - 1], 2 * scale) if k else -math.inf,
        Fraction(walsh[-k], 2 * scale) if k else math.inf,
    )
    return RankInterval(
        procedure=place,
        inputs=(("diffs", read), ("level", 1 - alpha)),
        reading=interval_sentence(f"typical difference of {n}", interval, 1 - alpha),
        n=n,
        method="Walsh averages",
        estimate=interval[0],
        lower=interval[1],
        upper=interval[2],
        level=1 - alpha,
        coverage=1 - missed,
        note="" if k else OUT_OF_REACH,
    )


def _rank(n: int, alpha: Fraction) -> tuple[int, Fraction]:
    """Return the largest k that holds the level, and the share that it misses."""
    half = n * (n + 1) // 4
    k, count = 0, 0
    allowed = math.floor(alpha * (1 << n) / 2)
    for patterns in slots(range(1, n + 1), half):
        if count + patterns > allowed:
            break
        k, count = k + 1, count + patterns
    return k, Fraction(2 * count, 1 << n)
