"""Several endpoints of the same pairs: sharper than Holm where they move together."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Sequence
from fractions import Fraction

from benchlib.stats._flips import to_units
from benchlib.stats._numbers import Number, listed, measured, refuse
from benchlib.stats.holm import Adjusted, family_sentence

MOST_PAIRS = 20


def min_p(endpoints: Iterable[Iterable[Number]]) -> Adjusted:
    """Adjust the p-values of several endpoints by exchanging the arms of whole pairs.

    One sign flip acts on all endpoints of a pair, so that their correlation is kept. The
    marginal p of an endpoint is the share of flips whose sum has at least the
    observed magnitude.
    In ascending order, the adjusted p is the share of flips in which the smallest
    marginal p among the endpoints not yet rejected is at most the observed one; each is
    at least the one before.

    Args:
        endpoints: For each endpoint its paired differences; all of the same 1 to 20
            pairs, in the same order.

    Returns:
        ``raw`` and ``adjusted`` in the order given.

    Raises:
        InputError: No endpoint, lists of different lengths, more than 20 pairs, or a
            value that is no finite number.

    Source:
        Westfall & Young (1993), Resampling-Based Multiple Testing.

    Example:
        >>> result = min_p([[0, 0, 0, 0], [1, 1, 1, 1]])
        >>> [str(p) for p in result.adjusted]
        ['1', '1/8']
    """
    place = "min_p"
    read = tuple(
        measured(place, f"endpoints[{at}]", endpoint)
        for at, endpoint in enumerate(listed(place, "endpoints", endpoints, least=1))
    )
    n = len(read[0])
    for at, endpoint in enumerate(read):
        if len(endpoint) != n or n > MOST_PAIRS:
            found = f"{len(endpoint)} pairs"
            refuse(place, f"endpoints[{at}]", found, f"the same {MOST_PAIRS} pairs or fewer in all")
    counts = [_as_extreme(to_units(endpoint)) for endpoint in read]
    flips = len(counts[0])
    raw = tuple(Fraction(count[0], flips) for count in counts)
    adjusted = _step_down(counts)
    return Adjusted(
        procedure=place,
        inputs=(("endpoints", read),),
        reading=family_sentence(adjusted),
        n=n,
        method="joint sign flips",
        raw=raw,
        adjusted=adjusted,
    )


def _as_extreme(terms: Sequence[int]) -> list[int]:
    """Return for each flip how many flips have at least its magnitude of sum.

    The first flip changes nothing. The first pair is never flipped: flipping all pairs
    changes no magnitude, so half of the flips say everything.
    """
    sums = [sum(terms)]
    for term in terms[1:]:
        sums += [value - 2 * term for value in sums]
    sizes = [abs(value) for value in sums]
    ordered = sorted(sizes)
    counts = {size: len(ordered) - bisect.bisect_left(ordered, size) for size in set(sizes)}
    return [counts[size] for size in sizes]


def _step_down(counts: Sequence[Sequence[int]]) -> tuple[Fraction, ...]:
    order = sorted(range(len(counts)), key=lambda at: counts[at][0])
    shares = [Fraction(0)] * len(counts)
    smallest = list(counts[order[-1]])
    for at in reversed(order):
        smallest = [min(pair) for pair in zip(smallest, counts[at], strict=True)]
        reached = sum(value <= counts[at][0] for value in smallest)
        shares[at] = Fraction(reached, len(smallest))
    highest = Fraction(0)
    for at in order:
        shares[at] = highest = max(highest, shares[at])
    return tuple(shares)
