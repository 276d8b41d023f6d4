"""By how much do the arms differ, in success rate? The interval of the unconditional family.

Not offered: Wald, Tango's and Newcombe's approximate intervals, and an exact interval of
the discordant share scaled by m / n, which treats m as fixed and is too short.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple, SupportsIndex

from benchlib.stats._numbers import Number, confidence
from benchlib.stats._region import thresholds
from benchlib.stats._supremum import grid, probability, supremum
from benchlib.stats._unconditional import POINTS_FOR_P, counts
from benchlib.stats._words import interval_sentence
from benchlib.stats.result import Interval

_TOLERANCE = 1e-8
_POINTS = 2.0  # of the discordance, for each standard deviation, while bisecting
_COARSE = 0.5  # while scanning
# A coarse maximum below this share of the goal can't hide a value above it. A heuristic,
# held against the full search by a test.
_CLEARLY_BELOW = 0.7
CARRIED = "the outward scan carried a limit across 0"


class _Limit(NamedTuple):
    value: float
    crossed_zero: bool


def paired_difference_interval(
    *,
    gained: SupportsIndex,
    lost: SupportsIndex,
    pairs: SupportsIndex,
    level: Number = "0.95",
) -> Interval:
    """Estimate the risk difference, treatment minus control, with an exact interval.

    The differences that neither one-sided unconditional test rejects at half the error.
    The p of a test steps back where tables change places, so each limit is the outermost
    crossing: found by bisection, then by a scan outwards in steps of at most 1 / (8 n)
    over 3 / sqrt(n).

    Args:
        gained: Pairs that only the treatment arm passed.
        lost: Pairs that only the control arm passed.
        pairs: All pairs, 1 to 2,000.
        level: Confidence, above 0 and below 1.

    Returns:
        ``estimate`` is the fraction (gained - lost) / pairs; limits within 1e-7.

    Raises:
        InputError: An argument is out of its range.

    Source:
        Hsueh, Liu & Chen (2001), Biometrics 57, 478-483; Tang, Tang & Chan (2005),
        Statistics in Medicine 24; statistic: Tango (1998), Statistics in Medicine 17,
        891-908.

    Example:
        >>> found = paired_difference_interval(gained=1, lost=7, pairs=21)
        >>> round(found.lower, 6), round(found.upper, 6)
        (-0.537288, -0.020086)
    """
    place = "paired_difference_interval"
    b, c, n = counts(place, gained, lost, pairs)
    alpha = 1 - confidence(place, level)
    goal = float(alpha / 2)
    lower, mirrored = _lower(b, c, n, goal), _lower(c, b, n, goal)
    interval = (Fraction(b - c, n), lower.value, 0.0 - mirrored.value)
    notes = ["no discordant pairs"] if b + c == 0 else []
    notes += [CARRIED] if lower.crossed_zero or mirrored.crossed_zero else []
    return Interval(
        procedure=place,
        inputs=(("gained", b), ("lost", c), ("pairs", n), ("level", 1 - alpha)),
        reading=interval_sentence(
            f"{b} gained, {c} lost of {n} pairs: risk difference", interval, 1 - alpha
        ),
        n=n,
        method="inverted score test, supremum over the discordance",
        estimate=interval[0],
        lower=interval[1],
        upper=interval[2],
        level=1 - alpha,
        gained=b,
        lost=c,
        note="; ".join(notes),
    )


def _lower(b: int, c: int, n: int, goal: float) -> _Limit:
    """Return the outermost difference below the estimate whose p exceeds the goal."""
    if c == n:
        return _Limit(-1.0, crossed_zero=False)
    search = _Search(b, c, n, goal)
    low, high = -1.0, (b - c) / n
    if not search.exceeds(high):
        high = 1.0
    # The test at 0 is asked at the fineness of a p-value, and the bisection keeps to its
    # side: so test and interval agree.
    if low < 0.0 < high:
        is_inside = search.exceeds(0.0, POINTS_FOR_P)
        low, high = (low, 0.0) if is_inside else (0.0, high)
    limit = search.between(low, high)
    outer = search.outermost(limit)
    return _Limit(outer, crossed_zero=outer < 0.0 <= limit and low == 0.0)


class _Search:
    """The search for one lower limit; remembers where the last excess was."""

    def __init__(self, b: int, c: int, n: int, goal: float) -> None:
        self._table = (b, c, n)
        self._goal = goal
        self._last = 0.5

    def exceeds(self, delta: float, per_deviation: float = _POINTS) -> bool:
        """Tell whether p at this difference exceeds the goal for any discordance."""
        least = thresholds(*self._table, delta)
        if self._exceeds_at(least, delta, max(self._last, abs(delta))):
            return True
        value, at = supremum(least, delta, per_deviation, stop_above=self._goal)
        if value > self._goal:
            self._last = at
        return value > self._goal

    def between(self, low: float, high: float) -> float:
        """Return where it begins to exceed: never at ``low``, at ``high`` at the latest."""
        first = low
        while high - low > _TOLERANCE:
            middle = (low + high) / 2.0
            low, high = (low, middle) if self.exceeds(middle) else (middle, high)
        # The outer end covers more. But a start that was rejected stays outside.
        return high if low == first else low

    def outermost(self, limit: float) -> float:
        """Return the limit, moved out to the last excess that a scan finds."""
        n = self._table[2]
        steps = math.ceil(3.0 / math.sqrt(n) * 8.0 * n)
        at = 1
        while at <= steps:
            delta = limit - at / (8.0 * n)
            if delta <= -1.0:
                break
            if self._may_exceed(delta) and self.exceeds(delta):
                limit, at = self.between(max(delta - 1.0 / (8.0 * n), -1.0), delta), 0
            at += 1
        return limit

    def _may_exceed(self, delta: float) -> bool:
        least, clear = thresholds(*self._table, delta), _CLEARLY_BELOW * self._goal
        points = grid(delta, self._table[2], _COARSE)
        return any(probability(least, delta, point) >= clear for point in points)

    def _exceeds_at(self, least: list[int], delta: float, discordance: float) -> bool:
        return probability(least, delta, discordance) > self._goal
