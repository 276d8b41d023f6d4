"""Whole-number binomial tails at one half, the arithmetic of every sign flip."""

from __future__ import annotations

import math
from fractions import Fraction


def lower_count(m: int, k: int) -> int:
    """Count the subsets of m things that have k or fewer members.

    Sums from the end or around the middle, whichever is shorter; each term is the last
    one times a small ratio, so the cost is that of a few hundred multiplications.
    """
    if k < 0:
        return 0
    if k >= m:
        return 1 << m
    if 2 * k >= m:
        return (1 << m) - lower_count(m, m - k - 1)
    if 4 * k < m:
        return _from_the_end(m, k)
    return ((1 << m) - _middle(m, k)) // 2


def _from_the_end(m: int, k: int) -> int:
    term = total = 1
    for i in range(k):
        term = term * (m - i) // (i + 1)
        total += term
    return total


def _middle(m: int, k: int) -> int:
    """Count the subsets with more than k and fewer than m - k members, for 2k < m."""
    term = math.comb(m, k + 1)
    total = 0
    for i in range(k + 1, (m + 1) // 2):
        total += term
        term = term * (m - i) // (i + 1)
    return 2 * total + (term if m % 2 == 0 else 0)


def sign_p(gained: int, lost: int, alternative: str, *, mid_p: bool = False) -> Fraction:
    """Return the p of ``gained`` successes among the discordant ones at one half.

    ``greater`` counts as many or more gains, ``less`` as few or fewer; two-sided doubles
    the smaller tail, up to 1. The mid-p takes the observed point at half its weight.
    """
    m = gained + lost
    at = {"greater": lost, "less": gained}.get(alternative, min(gained, lost))
    # Doubled once more, so that half of a point stays a whole number.
    tail = 2 * lower_count(m, at) - (math.comb(m, at) if mid_p else 0)
    if alternative == "two-sided":
        tail = min(2 * tail, 2 << m)
    shift = min((tail & -tail).bit_length() - 1, m + 1)
    return Fraction(tail >> shift, 1 << (m + 1 - shift))
