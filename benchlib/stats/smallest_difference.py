"""Before the spending: what is the smallest effect that a cohort of given size can show?"""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import SupportsIndex

from benchlib.stats._critical import critical_gains
from benchlib.stats._numbers import Number, choice, inside, probability, whole
from benchlib.stats._power_curve import binomial_weights, sum_up, tail_chances
from benchlib.stats.power import MOST_PAIRS, mcnemar_power
from benchlib.stats.printing import print_value
from benchlib.stats.result import Result

_ALTERNATIVES = ("two-sided", "greater")  # for the other direction exchange the arms
_HALVINGS = 60
NONE = "no difference reaches the power at this discordance"


@dataclasses.dataclass(frozen=True, kw_only=True)
class SmallestDifference(Result):
    """The least risk difference that is shown with the wanted power, if any is."""

    difference: float | None


def smallest_detectable_difference(
    *,
    pairs: SupportsIndex,
    discordant: Number,
    alpha: Number = "0.05",
    power: Number = "0.8",
    alternative: str = "two-sided",
) -> SmallestDifference:
    """Find the least difference that so many pairs show with the wanted power.

    Args:
        pairs: Pairs in the cohort, 1 to 5,000.
        discordant: Chance that the arms of a pair disagree, 0 to 1.
        alpha: The error that is accepted, above 0 and below 1.
        power: The chance to reject that is wanted, above 0 and below 1.
        alternative: ``two-sided`` or ``greater``.

    Returns:
        ``difference``, 0 or more, correct to 1e-10; ``None`` when even a cohort in which
        every discordant pair is a gain falls short.

    Raises:
        InputError: An argument is out of its range.

    Source:
        Miettinen (1968), Biometrics 24, 339-352; solved for the effect.

    Example:
        >>> found = smallest_detectable_difference(pairs=60, discordant="0.25")
        >>> round(found.difference, 6)
        0.182663
    """
    place = "smallest_detectable_difference"
    n = whole(place, "pairs", pairs, least=1, most=MOST_PAIRS)
    phi = probability(place, "discordant", discordant)
    error, target = inside(place, "alpha", alpha), inside(place, "power", power)
    choice(place, "alternative", alternative, _ALTERNATIVES)
    difference = _search(n, phi, error, target, alternative)
    found = "no size" if difference is None else print_value(difference, kind="upper")
    return SmallestDifference(
        procedure=place,
        inputs=(
            ("pairs", n),
            ("discordant", phi),
            ("alpha", error),
            ("power", target),
            ("alternative", alternative),
        ),
        reading=f"{n} pairs show a difference of {found} with power {print_value(target)}.",
        n=n,
        method="exact",
        estimate=difference,
        alternative=alternative,
        convention="doubling",
        difference=difference,
        note="" if difference is not None else NONE,
    )


def _search(
    n: int, phi: Fraction, alpha: Fraction, target: Fraction, alternative: str
) -> float | None:
    """Bisect; the two ends are decided in fractions."""

    def reaches(gained: Fraction) -> bool:
        power = mcnemar_power(
            pairs=n, p_gained=gained, p_lost=phi - gained, alpha=alpha, alternative=alternative
        )
        return power.power >= target

    if not reaches(phi):
        return None
    if reaches(phi / 2):
        return 0.0
    critical = critical_gains(n, alpha, alternative, mid_p=False)
    weights = binomial_weights(n, float(phi))
    low, high, goal = 0.5, 1.0, float(target)  # shares of gains among discordant pairs
    for _ in range(_HALVINGS):
        share = (low + high) / 2.0
        chance = tail_chances(critical, share)
        if alternative == "two-sided":
            other = tail_chances(critical, 1.0 - share)
            chance = [up + down for up, down in zip(chance, other, strict=True)]
        power = sum_up([w * c for w, c in zip(weights, chance, strict=True)])
        low, high = (low, share) if power >= goal else (share, high)
    return float(phi) * (2.0 * high - 1.0)
