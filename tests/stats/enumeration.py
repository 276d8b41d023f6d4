"""Distributions by plain enumeration: the oracle of the tests, slow and obvious.

Nothing here is shared with the package: probabilities are products of fractions, or floats
that are added up by `math.fsum`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

ZERO, ONE, HALF = Fraction(0), Fraction(1), Fraction(1, 2)


def binomial(n: int, p: Fraction) -> list[Fraction]:
    """Return the probability of each count."""
    return [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]


def binomial_floats(n: int, p: float) -> list[float]:
    """The same in floats, by way of logarithms."""
    if p in {0.0, 1.0}:
        return [float(k == n * p) for k in range(n + 1)]
    return [
        math.exp(
            math.lgamma(n + 1)
            - math.lgamma(k + 1)
            - math.lgamma(n - k + 1)
            + k * math.log(p)
            + (n - k) * math.log1p(-p)
        )
        for k in range(n + 1)
    ]


def tables(n: int) -> Iterator[tuple[int, int]]:
    """Yield the gained and lost counts of all tables of n pairs."""
    return ((b, c) for b in range(n + 1) for c in range(n + 1 - b))


def table_chance(b: int, c: int, n: int, gain: float, loss: float) -> float:
    """Return the trinomial probability of a table."""
    ways = math.comb(n, b) * math.comb(n - b, c)
    return ways * gain**b * loss**c * max(0.0, 1.0 - gain - loss) ** (n - b - c)


def flips(terms: list[Fraction]) -> Iterator[list[Fraction]]:
    """Yield all sign patterns of the terms."""
    for signs in itertools.product((1, -1), repeat=len(terms)):
        yield [sign * term for sign, term in zip(signs, terms, strict=True)]


def doubled(observed: Fraction, values: list[Fraction]) -> Fraction:
    """Return twice the smaller tail of equally likely values, up to 1."""
    below = sum(value <= observed for value in values)
    above = sum(value >= observed for value in values)
    return min(ONE, Fraction(2 * min(below, above), len(values)))
