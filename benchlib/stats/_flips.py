"""The exact distribution of a sum whose terms change sign freely.

The sum over positive terms decides everything: with S the sum of all magnitudes and A that
of the terms with a plus, the signed sum is 2A - S. So a tail of the signed sum is a tail
of a subset sum of whole numbers, found in one of two ways, by cost:

*packed*: one long whole number, each possible sum a slot of n + 1 bits; adding a magnitude
is one shift and one addition; slots beyond the tail are masked away, and the others add up
to the number modulo 2^(n + 1) - 1. Many terms are dealt into two such numbers of half the
width, which are then combined slot by slot.

*halved*: for large magnitudes, the sums of either half of the terms, sorted, and one sweep.

A permutation test never falls back to an approximation: where both are too dear, the
caller is told to declare a coarser unit in the plan.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

from benchlib.stats._numbers import refuse

_MOST_BITS = 1 << 31
_MOST_HALVED = 44
# Below, taking two packed numbers apart costs more than their smaller width saves.
_FEW = 150
# Sorting and sweeping one entry of a half takes about as long as adding this many bits.
_BITS_PER_ENTRY = 4096


def flip_p(place: str, name: str, terms: Sequence[Fraction | int], alternative: str) -> Fraction:
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
    require_affordable(place, name, magnitudes)
    # Flipping everything maps sums of at least A to sums of at most S - A.
    ends = {"less": positive, "greater": total - positive}
    at = ends.get(alternative, min(ends.values()))
    count = count_at_most(magnitudes, at) * (2 if alternative == "two-sided" else 1)
    return Fraction(min(count, patterns), patterns)


def least_flip_p(terms: Sequence[Fraction | int], alternative: str) -> Fraction:
    """Return the least p that the signs of these terms can give, whatever they are."""
    patterns = 1 << sum(term != 0 for term in terms)
    return min(Fraction(1), Fraction(2 if alternative == "two-sided" else 1, patterns))


def to_units(terms: Sequence[Fraction | int]) -> list[int]:
    """Return the terms as multiples of their greatest common measure.

    Example:
        >>> to_units([Fraction(1, 2), Fraction(-3, 4), Fraction(0)])
        [2, -3, 0]
    """
    scale = math.lcm(*(term.denominator for term in terms))
    whole = [int(term * scale) for term in terms]
    common = math.gcd(*whole) or 1
    return [term // common for term in whole]


def require_affordable(place: str, name: str, magnitudes: Sequence[int]) -> None:
    """Refuse sums that neither way can count.

    Raises:
        InputError: Too many terms of too many digits.
    """
    n = len(magnitudes)
    if n > _MOST_HALVED and sum(magnitudes) * (n + 1) > _MOST_BITS:
        refuse(
            place,
            name,
            f"{n} values of up to {max(magnitudes)} units",
            f"at most {_MOST_HALVED} values, or values of fewer units",
            "declare a coarser unit in the plan, such as 100 tokens or 0.1 s",
        )


def count_at_most(magnitudes: Sequence[int], at: int) -> int:
    """Count the subsets of positive magnitudes, in order, whose sum is at most ``at``."""
    n, total = len(magnitudes), sum(magnitudes)
    if at < 0:
        return 0
    if 2 * at >= total:  # the complement of a subset above is one below
        return (1 << n) - count_at_most(magnitudes, total - at - 1)
    entries = 1 << (n + 1) // 2
    if n <= _MOST_HALVED and (at + 1) * (n + 1) * n > entries * _BITS_PER_ENTRY:
        return _halved(magnitudes, at)
    return _packed(magnitudes, at) if n <= _FEW else _dealt(magnitudes, at)


def _packed(magnitudes: Sequence[int], at: int) -> int:
    slot, sums, reach = len(magnitudes) + 1, 1, 0
    mask = (1 << (at + 1) * slot) - 1
    for magnitude in magnitudes:
        sums += sums << magnitude * slot
        reach += magnitude
        if reach > at:
            sums &= mask
    # All slots together hold at most 2^n, which is below the modulus.
    return sums % ((1 << slot) - 1)


def _dealt(magnitudes: Sequence[int], at: int) -> int:
    few = slots(magnitudes[::2], at)
    below = list(itertools.accumulate(slots(magnitudes[1::2], at)))
    most = len(below) - 1
    return sum(count * below[min(at - i, most)] for i, count in enumerate(few) if count)


def slots(magnitudes: Sequence[int], at: int) -> list[int]:
    """Return how many subsets have each sum, from 0 to ``at`` or the largest sum.

    Args:
        magnitudes: Positive whole numbers; in ascending order it is quickest.
        at: The largest sum of interest, 0 or more.
    """
    width = len(magnitudes) // 8 + 1  # bytes of a slot, which counts up to 2^n
    slot, sums, reach = 8 * width, 1, 0
    mask = (1 << (at + 1) * slot) - 1
    for magnitude in magnitudes:
        sums += sums << magnitude * slot
        reach += magnitude
        if reach > at:
            sums &= mask
    count = min(reach, at) + 1
    packed = sums.to_bytes(count * width, "little")
    return [
        int.from_bytes(packed[start : start + width], "little")
        for start in range(0, count * width, width)
    ]


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
