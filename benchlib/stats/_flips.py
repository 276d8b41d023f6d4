"""The exact distribution of a sum whose terms change sign freely.

The sum over positive terms decides everything: with S the sum of all magnitudes and A that
of the terms with a plus, the signed sum is 2A - S. So a tail of the signed sum is a tail
of a subset sum of non-negative whole numbers, found in one of two ways, by cost:

*packed*: one long whole number, each possible sum a slot of n + 1 bits; adding a
magnitude is one shift and one addition; slots beyond the tail are masked away; the slots'
sum is the number modulo 2^(n+1) - 1.

*halved*: for large magnitudes, the sums of either half of the terms, sorted, and one sweep.

A permutation test never needs an approximation for lack of a third: when both are too
dear, the caller is told to declare a coarser unit in the plan.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from benchlib.stats._numbers import refuse

_MOST_BITS = 1 << 31
_MOST_HALVED = 44
# One sorted entry of a half costs about as much as this many bits of a packed addition.
_BITS_PER_ENTRY = 2048


def flip_p(place: str, name: str, terms: Sequence[Fraction], alternative: str) -> Fraction:
    """Return the p of the observed sum among all sign patterns of its terms.

    Args:
        place: The procedure, for a refusal.
        name: Its argument, for a refusal.
        terms: The observed terms; zeros carry no sign and weigh nothing.
        alternative: ``two-sided`` doubles the smaller tail.

    Returns:
        A multiple of 1 / 2^n; a pattern that equals the observed sum counts.

    Raises:
        InputError: There are too many terms of too many digits.
    """
    units = to_units(terms)
    positive = sum(unit for unit in units if unit > 0)
    magnitudes = sorted(abs(unit) for unit in units if unit)
    total, patterns = sum(magnitudes), 1 << len(magnitudes)
    # Flipping everything maps sums at least A to sums at most S - A.
    ends = {"less": positive, "greater": total - positive}
    at = ends.get(alternative, min(ends.values()))
    count = count_at_most(place, name, magnitudes, at)
    return Fraction(min(count * (2 if alternative == "two-sided" else 1), patterns), patterns)


def to_units(terms: Sequence[Fraction]) -> list[int]:
    """Return the terms as multiples of their greatest common measure.

    Example:
        >>> to_units([Fraction(1, 2), Fraction(-3, 4), Fraction(0)])
        [2, -3, 0]
    """
    scale = math.lcm(*(term.denominator for term in terms))
    whole = [int(term * scale) for term in terms]
    common = math.gcd(*whole) or 1
    return [term // common for term in whole]


def count_at_most(place: str, name: str, magnitudes: Sequence[int], at: int) -> int:
    """Count the subsets of positive magnitudes whose sum is at most ``at``.

    Raises:
        InputError: Neither way is affordable.
    """
    n, total = len(magnitudes), sum(magnitudes)
    if at >= total:
        return 1 << n
    if 2 * at >= total:  # the complement of a subset above is one below
        return (1 << n) - count_at_most(place, name, magnitudes, total - at - 1)
    bits = (at + 1) * (n + 1)
    is_halved = n <= _MOST_HALVED and bits > (1 << (n + 1) // 2) * _BITS_PER_ENTRY // max(n, 1)
    if is_halved:
        return _halved(magnitudes, at)
    if bits > _MOST_BITS:
        refuse(
            place,
            name,
            f"{n} terms of up to {max(magnitudes)} units",
            f"at most {_MOST_HALVED} terms, or sums of fewer units",
            "declare a coarser unit in the plan, such as 100 tokens or 0.1 s",
        )
    return _packed(magnitudes, at)


def _packed(magnitudes: Sequence[int], at: int) -> int:
    slot = len(magnitudes) + 1
    sums, reach = 1, 0
    mask = (1 << (at + 1) * slot) - 1
    for magnitude in magnitudes:
        sums += sums << magnitude * slot
        reach += magnitude
        if reach > at:
            sums &= mask
    # The slots' sum is at most 2^n, so it's smaller than the modulus unless n is 0.
    return sums % ((1 << slot) - 1) if magnitudes else 1


def _halved(magnitudes: Sequence[int], at: int) -> int:
    low, high = _all_sums(magnitudes[::2]), _all_sums(magnitudes[1::2])
    count, above = 0, len(high)
    for value in low:
        while above and high[above - 1] > at - value:
            above -= 1
        if above == 0:
            break
        count += above
    return count


def _all_sums(magnitudes: Sequence[int]) -> list[int]:
    sums = [0]
    for magnitude in magnitudes:
        sums += [value + magnitude for value in sums]
        sums.sort()  # two sorted runs: one merge
    return sums
