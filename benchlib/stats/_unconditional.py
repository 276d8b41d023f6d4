"""One-sided p-values over all discordances, and how their arguments are read."""

from __future__ import annotations

from fractions import Fraction
from typing import SupportsIndex

from benchlib.stats._numbers import refuse, whole
from benchlib.stats._region import thresholds
from benchlib.stats._supremum import supremum

MOST_PAIRS = 2000
"""Up to here the tie rule in floats stands for a rational comparison."""

POINTS_FOR_P = 4.0
"""Grid points of a p-value for each standard deviation of the discordance."""


def counts(
    place: str, gained: SupportsIndex, lost: SupportsIndex, pairs: SupportsIndex
) -> tuple[int, int, int]:
    """Read the gained, lost and all pairs.

    Raises:
        InputError: A count is out of range, or more pairs are discordant than there are.
    """
    b, c = whole(place, "gained", gained), whole(place, "lost", lost)
    n = whole(place, "pairs", pairs, least=1, most=MOST_PAIRS)
    if b + c > n:
        refuse(place, "pairs", n, f"n pairs in all, at least the {b + c} discordant ones")
    return b, c, n


def p_greater(b: int, c: int, n: int, delta: Fraction) -> float:
    """Return the p of "the difference is at most delta" against a larger one."""
    at = float(delta)
    return supremum(thresholds(b, c, n, at), at, POINTS_FOR_P)[0]


def p_two_sided(b: int, c: int, n: int, delta: Fraction) -> float:
    """Return twice the smaller one-sided p, up to 1.

    The regions of both sides cover all tables. So if one side's p is below one half, the
    other's is above, and needs no search.
    """
    if b - c < n * delta:
        b, c, delta = c, b, -delta
    smaller = p_greater(b, c, n, delta)
    if smaller >= 0.5:
        return 1.0
    return 2.0 * smaller
