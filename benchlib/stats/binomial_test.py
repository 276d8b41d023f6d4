"""One proportion against a fixed value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import SupportsIndex

from benchlib.stats._numbers import Number, choice, probability, refuse, successes_of, whole
from benchlib.stats._words import ALTERNATIVES, p_sentence
from benchlib.stats.printing import print_value
from benchlib.stats.result import ExactTest

CONVENTIONS = ("doubling", "minlike", "blaker")
"""How two tails make one two-sided p."""

_MOST_BITS = 1 << 31  # of all weights together


def binomial_test(
    *,
    successes: SupportsIndex,
    attempts: SupportsIndex,
    p0: Number,
    alternative: str = "two-sided",
    convention: str = "doubling",
    mid_p: bool = False,
) -> ExactTest:
    """Test that the success rate is ``p0``.

    Args:
        successes: Attempts that succeeded, k with 0 <= k <= n.
        attempts: Independent attempts, n, 0 or more.
        p0: The rate under test, 0 to 1.
        alternative: ``two-sided``, ``greater`` (P(X >= k)) or ``less`` (P(X <= k)).
        convention: Of the two-sided p. ``doubling`` the smaller tail, up to 1;
            ``minlike``: all outcomes not more likely than k, compared as exact numbers;
            ``blaker``: the smaller tail plus the largest opposite one that isn't larger.
        mid_p: Whether the observed count weighs half; with ``doubling`` only.

    Returns:
        The test; ``p`` is an exact fraction, and 1 when there is no attempt.

    Raises:
        InputError: An argument is out of its range, ``mid_p`` goes with another
            convention, or n and the digits of ``p0`` are too many to count exactly.

    Source:
        Clopper & Pearson (1934), Biometrika 26, 404-413; the conventions: Fay (2010),
        Biostatistics 11, 373-374.

    Example:
        >>> binomial_test(successes=7, attempts=9, p0="1/2", alternative="greater").p
        Fraction(23, 256)
    """
    place = "binomial_test"
    n = whole(place, "attempts", attempts)
    k = successes_of(place, n, successes)
    null = probability(place, "p0", p0)
    choice(place, "alternative", alternative, ALTERNATIVES)
    choice(place, "convention", convention, CONVENTIONS)
    if mid_p and convention != "doubling":
        refuse(place, "mid_p", mid_p, "mid-p goes with doubling only", "leave one of them out")
    weights = _weights(place, n, null)
    total = null.denominator**n
    rule = convention if alternative == "two-sided" else alternative
    return ExactTest(
        procedure=place,
        inputs=(
            ("successes", k),
            ("attempts", n),
            ("p0", null),
            ("alternative", alternative),
            ("convention", convention),
            ("mid_p", bool(mid_p)),
        ),
        reading=p_sentence(
            f"{k} of {n} against a rate of {print_value(null)}",
            p := _p(weights, total, k, rule, mid_p=mid_p),
        ),
        n=n,
        method="mid-p" if mid_p else "exact",
        estimate=Fraction(k, n) if n else None,
        p=p,
        least_p=min(_p(weights, total, end, rule, mid_p=mid_p) for end in (0, n)),
        alternative=alternative,
        convention=convention,
        note="no attempt: nothing to test" if n == 0 else "",
    )


def _weights(place: str, n: int, null: Fraction) -> list[int]:
    """Return the probability of each count times denominator^n."""
    success, failure = null.numerator, null.denominator - null.numerator
    if n * n * null.denominator.bit_length() > _MOST_BITS:
        refuse(place, "attempts", f"{n} with p0 = {null}", "fewer attempts, or fewer digits in p0")
    return [math.comb(n, i) * success**i * failure ** (n - i) for i in range(n + 1)]


def _p(weights: Sequence[int], total: int, k: int, rule: str, *, mid_p: bool) -> Fraction:
    below, above = sum(weights[: k + 1]), sum(weights[k:])
    half = Fraction(weights[k], 2) if mid_p else Fraction(0)
    if rule == "less":
        mass = below - half
    elif rule == "greater":
        mass = above - half
    elif rule == "doubling":
        mass = 2 * (min(below, above) - half)
    elif rule == "minlike":
        mass = Fraction(sum(weight for weight in weights if weight <= weights[k]))
    else:
        mass = Fraction(_acceptability(weights, below, above))
    return min(Fraction(1), mass / total)


def _acceptability(weights: Sequence[int], below: int, above: int) -> int:
    """Return the smaller tail plus the largest opposite tail that isn't larger."""
    smaller = min(below, above)
    opposite = reversed(weights) if below <= above else iter(weights)
    tail = 0
    for weight in opposite:
        if tail + weight > smaller:
            break
        tail += weight
    return smaller + tail
