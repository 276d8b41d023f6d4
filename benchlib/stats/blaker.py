"""A shorter interval of one proportion that does hold its level.

A rate is acceptable if the smaller tail at the observed count, plus the largest opposite
tail that isn't larger, exceeds alpha. The acceptable rates can have a hole; the interval
is their hull. Always inside Clopper-Pearson.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from benchlib.stats._tail import Scaled, limits, point, scaled, tail_over_point


def blaker_limits(successes: int, attempts: int, alpha: Fraction) -> tuple[float, float]:
    """Return the hull of the rates whose acceptability exceeds alpha.

    Args:
        successes: 0 to ``attempts``.
        attempts: 1 or more.
        alpha: One minus the level.

    Returns:
        Lower and upper limit, correct to 1e-12.

    Source:
        Blaker (2000), Canadian Journal of Statistics 28, 783-798; Klaschka (2010),
        COMPSTAT 2010: find the segment between two jumps first, then the root in it.

    Example:
        >>> lower, upper = blaker_limits(3, 10, Fraction(1, 20))
        >>> round(lower, 6), round(upper, 6)
        (0.087264, 0.619411)
    """
    lower, mirrored = (_lower(k, attempts, alpha) for k in (successes, attempts - successes))
    return lower, 1.0 - mirrored


def _lower(k: int, n: int, alpha: Fraction) -> float:
    """Return the least acceptable rate.

    1. Below the Clopper-Pearson limit both tails together are below alpha.
    2. There, j is the largest count whose lower tail isn't larger than the upper tail.
       Up to the next jump, where j + 1 comes in, the acceptability falls, then rises.
    3. It exceeds alpha either before that jump, at a root, or at the jump, where it is
       twice a tail that is above alpha / 2.
    """
    if k == 0:
        return 0.0
    start = limits(k, n, alpha / 2)[0]
    upper = _upper_tail(k, n)
    jump = _first(lambda j: _lower_tail(j, n)(start).over(upper(start)) > 1.0, k)
    entering = _lower_tail(jump, n)
    end = _bisect(lambda p: entering(p).over(upper(p)) <= 1.0, start, 1.0)
    opposite, goal = _lower_tail(jump - 1, n), scaled(alpha)

    def is_acceptable(p: float) -> bool:
        return upper(p).over(goal) + opposite(p).over(goal) > 1.0

    return _bisect(is_acceptable, start, end)


def _first(is_true: Callable[[int], bool], end: int) -> int:
    """Return the first whole number from 0 for which it is true, at most ``end``."""
    low, high = 0, end
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_true(middle) else (middle + 1, high)
    return low


def _bisect(is_true: Callable[[float], bool], low: float, high: float) -> float:
    """Return where it becomes true; ``high`` if it never does before."""
    while True:
        middle = (low + high) / 2.0
        if middle in {low, high} or high - low <= 1e-17:
            return high
        low, high = (low, middle) if is_true(middle) else (middle, high)


def _upper_tail(k: int, n: int) -> Callable[[float], Scaled]:
    ways = scaled(Fraction(math.comb(n, k)))
    return lambda p: _times(point(p, k, n, ways), tail_over_point(p, k, n))


def _lower_tail(j: int, n: int) -> Callable[[float], Scaled]:
    if j < 0:
        return lambda _: Scaled(0, 0)
    ways = scaled(Fraction(math.comb(n, j)))
    return lambda p: _times(point(p, j, n, ways), tail_over_point(1.0 - p, n - j, n))


def _times(value: Scaled, factor: float) -> Scaled:
    return value.times(scaled(Fraction(factor)))
