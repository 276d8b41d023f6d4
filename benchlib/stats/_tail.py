"""Where a binomial tail has a given probability, to the last digits of a float.

Powers and binomial coefficients are whole numbers with an exponent, cut to 128 bits after
each multiplication: nothing underflows, and nothing comes from a C library whose last
digit differs between systems. Only a sum of ratios, each near 1, is done in floats.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

_BITS = 128
_STEPS = 200


class Scaled(NamedTuple):
    """A positive number: mantissa times two to the exponent."""

    mantissa: int
    exponent: int

    def times(self, other: Scaled) -> Scaled:
        """Return the product, cut to 128 bits."""
        return _cut(self.mantissa * other.mantissa, self.exponent + other.exponent)

    def over(self, other: Scaled) -> float:
        """Return the quotient as a float, held within 1e-30 and 1e30; 0 stays 0."""
        if self.mantissa == 0:
            return 0.0
        shift = self.exponent - other.exponent
        bits = self.mantissa.bit_length() - other.mantissa.bit_length() + shift
        if abs(bits) > 100:
            return 1e30 if bits > 0 else 1e-30
        if shift >= 0:
            return (self.mantissa << shift) / other.mantissa
        return self.mantissa / (other.mantissa << -shift)


def _cut(mantissa: int, exponent: int) -> Scaled:
    excess = mantissa.bit_length() - _BITS
    return (
        Scaled(mantissa >> excess, exponent + excess) if excess > 0 else Scaled(mantissa, exponent)
    )


def scaled(value: Fraction) -> Scaled:
    """Return a positive fraction as a scaled number."""
    shift = max(0, _BITS + value.denominator.bit_length() - value.numerator.bit_length())
    return _cut((value.numerator << shift) // value.denominator, -shift)


def _power(base: Scaled, exponent: int) -> Scaled:
    result = Scaled(1, 0)
    while exponent:
        if exponent & 1:
            result = result.times(base)
        base = base.times(base)
        exponent >>= 1
    return result


def point(p: float, k: int, n: int, ways: Scaled) -> Scaled:
    """Return the probability of exactly k successes; ``ways`` is the coefficient."""
    numerator, denominator = p.as_integer_ratio()  # of a float: exact, and 1 - p as well
    down = -(denominator.bit_length() - 1)
    success = _power(Scaled(numerator, down), k)
    failure = _power(Scaled(denominator - numerator, down), n - k)
    return ways.times(success).times(failure)


def tail_over_point(p: float, k: int, n: int) -> float:
    """Return P(X >= k) divided by P(X = k), for 0 < p < 1."""
    odds = p / (1.0 - p)
    total = term = 1.0
    for i in range(k, n):
        term *= (n - i) / (i + 1) * odds
        total += term
        # Beyond the mode the rest is smaller than a geometric series of this ratio.
        if term < 1e-18 * total:
            break
    return total


def limits(k: int, n: int, tail: Fraction, *, mid_p: bool = False) -> tuple[float, float]:
    """Return where k or more, and where k or fewer, successes have the probability ``tail``.

    The upper limit is the mirrored lower one of the failures, to the last bit. For the
    mid-p the point k counts half.
    """
    # The coefficient is the dear part for large n, and the same for both.
    ways = _cut(math.comb(n, k), 0)
    lower = _root(k, n, ways, tail, mid_p=mid_p)
    return lower, 1.0 - _root(n - k, n, ways, tail, mid_p=mid_p)


def _root(k: int, n: int, ways: Scaled, tail: Fraction, *, mid_p: bool) -> float:
    """Return the p at which k or more successes have the probability ``tail``.

    Newton's steps on the logarithm, kept inside a bracket that halves when a step leaves
    it.
    """
    if k == 0:
        return 0.0
    goal = scaled(tail)
    low, high = 0.0, 1.0
    p = _start(k, n)
    for _ in range(_STEPS):
        above = tail_over_point(p, k, n) - (0.5 if mid_p else 0.0)
        slope = 0.5 * (k / p + (n - k) / (1.0 - p)) if mid_p else k / p
        ratio = point(p, k, n, ways).over(goal) * above
        low, high = (low, p) if ratio > 1.0 else (p, high)
        # (r - 1) / (r + 1) is half the logarithm of r near 1, and bounded far from it.
        following = p - above / slope * 2.0 * (ratio - 1.0) / (ratio + 1.0)
        if abs(following - p) <= 1e-15 * p:
            return following
        if not low < following < high:
            following = (low + high) / 2.0
        p = following
    return p


def _start(k: int, n: int) -> float:
    share = k / n
    guess = share - 2.0 * math.sqrt((share * (1.0 - share) + 1.0 / n) / n)
    return max(guess, share / 8.0)
