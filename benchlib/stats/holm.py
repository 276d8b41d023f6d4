"""Several claims at once: the family is fixed in the plan and counts what was planned."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from fractions import Fraction

from benchlib.stats._numbers import Number, listed, probability
from benchlib.stats.printing import print_value
from benchlib.stats.result import Result


@dataclasses.dataclass(frozen=True, kw_only=True)
class Adjusted(Result):
    """The p-values of a family, before and after adjustment, in the order given."""

    raw: tuple[Fraction, ...]
    adjusted: tuple[Fraction, ...]


def holm(p_values: Iterable[Number]) -> Adjusted:
    """Adjust p-values so that any false claim in the family is at most alpha likely.

    In ascending order the i-th of k is multiplied by k - i + 1; each is at least the one
    before it, and at most 1. Ties need no rule.

    Args:
        p_values: One for each claim that was planned, 0 to 1. An unconditional p, which
            is a float, counts as its shortest decimal text.

    Returns:
        ``adjusted`` in the order given; empty for an empty list.

    Raises:
        InputError: A value is no probability.

    Source:
        Holm (1979), Scandinavian Journal of Statistics 6, 65-70.

    Example:
        >>> [str(p) for p in holm(["0.01", "0.04", "0.03", "0.005"]).adjusted]
        ['3/100', '3/50', '3/50', '1/50']
    """
    place = "holm"
    raw = tuple(
        probability(place, f"p_values[{at}]", value)
        for at, value in enumerate(listed(place, "p_values", p_values))
    )
    adjusted = list(raw)
    highest = Fraction(0)
    for rank, at in enumerate(sorted(range(len(raw)), key=raw.__getitem__)):
        highest = max(highest, min(Fraction(1), (len(raw) - rank) * raw[at]))
        adjusted[at] = highest
    return Adjusted(
        procedure=place,
        inputs=(("p_values", raw),),
        reading=family_sentence(adjusted),
        n=len(raw),
        method="step-down",
        raw=raw,
        adjusted=tuple(adjusted),
    )


def family_sentence(adjusted: Iterable[Fraction]) -> str:
    """Return a reading of adjusted p-values."""
    shown = ", ".join(print_value(p, kind="p") for p in adjusted)
    return f"adjusted p-values: {shown or 'none'}."
