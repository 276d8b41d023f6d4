"""The typical value of a measure, without any assumption about its shape."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

from benchlib.stats._half import lower_count
from benchlib.stats._numbers import Number, confidence, measured
from benchlib.stats._words import interval_sentence
from benchlib.stats.result import Interval, Limit

OUT_OF_REACH = "too few values for this level: the limits are infinite"


@dataclasses.dataclass(frozen=True, kw_only=True)
class RankInterval(Interval):
    """An interval between two order statistics, with the coverage that it attains."""

    estimate: Fraction
    coverage: Fraction


def median_interval(values: Iterable[Number], *, level: Number = "0.95") -> RankInterval:
    """Estimate the median, with an interval between two of the values.

    The limits are the r-th smallest and the r-th largest value, r the largest with
    2 P(Bin(n, 1/2) <= r - 1) <= 1 - level.

    Args:
        values: Measured values, one or more.
        level: Confidence, above 0 and below 1.

    Returns:
        ``estimate`` is the middle value, or the mean of the two; ``coverage`` what the
        interval attains; infinite limits with coverage 1 if n is too small.

    Raises:
        InputError: No value, one that is no finite number, or ``level`` out of range.

    Source:
        Thompson (1936), Annals of Mathematical Statistics 7, 122-128.

    Example:
        >>> median = median_interval([5, 1, 9, 3, 7, 2])
        >>> int(median.estimate), int(median.lower), int(median.upper), median.coverage
        (4, 1, 9, Fraction(31, 32))
    """
    place = "median_interval"
    read = measured(place, "values", values)
    alpha = 1 - confidence(place, level)
    ordered, n = sorted(read), len(read)
    r = _rank(n, alpha)
    interval: tuple[Fraction, Limit, Limit] = (middle(ordered), -math.inf, math.inf)
    if r:
        interval = (interval[0], ordered[r - 1], ordered[n - r])
    return RankInterval(
        procedure=place,
        inputs=(("values", read), ("level", 1 - alpha)),
        reading=interval_sentence(f"median of {n}", interval, 1 - alpha),
        n=n,
        method="order statistics",
        estimate=interval[0],
        lower=interval[1],
        upper=interval[2],
        level=1 - alpha,
        coverage=1 - Fraction(2 * lower_count(n, r - 1), 1 << n),
        note="" if r else OUT_OF_REACH,
    )


def middle(ordered: Sequence[Fraction]) -> Fraction:
    """Return the middle value, or the mean of the two middle ones."""
    n = len(ordered)
    return (ordered[(n - 1) // 2] + ordered[n // 2]) / 2


def _rank(n: int, alpha: Fraction) -> int:
    """Return the largest r whose two tails together are at most alpha; 0 if none is."""
    allowed = math.floor(alpha * (1 << n))
    r, term, tails = 0, 1, 2  # tails: of the samples, 2^n in all, that r + 1 would miss
    while tails <= allowed and 2 * r < n:
        r += 1
        term = term * (n - r + 1) // r
        tails += 2 * term
    return r
