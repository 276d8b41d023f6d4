"""Before the spending: how likely is a planned cohort to show an effect of a given size?"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from fractions import Fraction
from typing import SupportsIndex

from benchlib.stats._critical import critical_gains, tail_weights
from benchlib.stats._numbers import Number, choice, inside, probability, refuse, whole
from benchlib.stats._words import ALTERNATIVES
from benchlib.stats.printing import print_value
from benchlib.stats.result import Result

MOST_PAIRS = 5000


@dataclasses.dataclass(frozen=True, kw_only=True)
class Power(Result):
    """The chance to reject, and the part of it that points the wrong way."""

    power: Fraction
    wrong_direction: Fraction


def mcnemar_power(
    *,
    pairs: SupportsIndex,
    p_gained: Number,
    p_lost: Number,
    alpha: Number = "0.05",
    alternative: str = "two-sided",
    mid_p: bool = False,
) -> Power:
    """Compute the power of McNemar's exact test over all numbers of discordant pairs.

    The sum over m of the chance of m discordant pairs times the chance to reject at m. A
    formula that puts in the expected m instead is not exact.

    Args:
        pairs: Pairs in the cohort, n, 1 to 5,000.
        p_gained: Chance that only the treatment arm passes a pair.
        p_lost: Chance that only the control arm does; both together at most 1.
        alpha: The error that is accepted, above 0 and below 1.
        alternative: ``two-sided`` counts rejections in both directions; ``greater``,
            ``less``.
        mid_p: Whether the test is the mid-p one.

    Returns:
        ``power``, and within it ``wrong_direction``, both exact.

    Raises:
        InputError: A number is out of its range, or the chances exceed 1 together.

    Source:
        Miettinen (1968), Biometrics 24, 339-352; Duffy (1984), Biometrics 40, 1005-1015.

    Example:
        >>> power = mcnemar_power(pairs=20, p_gained="0.3", p_lost="0.05")
        >>> round(float(power.power), 4), round(float(power.wrong_direction), 6)
        (0.3212, 2e-06)
    """
    place = "mcnemar_power"
    n = whole(place, "pairs", pairs, least=1, most=MOST_PAIRS)
    gained, lost = chances(place, p_gained, p_lost)
    error = inside(place, "alpha", alpha)
    choice(place, "alternative", alternative, ALTERNATIVES)
    critical = critical_gains(n, error, alternative, mid_p=mid_p)
    gain, loss, agree, base = whole_weights(gained, lost)
    upper = lower = Fraction(0)
    if alternative != "less":
        upper = _mixed(n, tail_weights(critical, gain, loss), agree, base)
    if alternative != "greater":
        lower = _mixed(n, tail_weights(critical, loss, gain), agree, base)
    power = upper + lower
    wrong = Fraction(0)
    if alternative == "two-sided":
        wrong = lower if gained >= lost else upper
    return Power(
        procedure=place,
        inputs=(
            ("pairs", n),
            ("p_gained", gained),
            ("p_lost", lost),
            ("alpha", error),
            ("alternative", alternative),
            ("mid_p", bool(mid_p)),
        ),
        reading=f"{n} pairs reject with probability {print_value(power)}.",
        n=n,
        method="mid-p" if mid_p else "exact",
        estimate=gained - lost,
        alternative=alternative,
        convention="doubling",
        power=power,
        wrong_direction=wrong,
        note="" if gained != lost else "no effect: this is the size of the test",
    )


def chances(place: str, p_gained: Number, p_lost: Number) -> tuple[Fraction, Fraction]:
    """Read the chances of a gain and of a loss.

    Raises:
        InputError: One is no probability, or both together exceed 1.
    """
    gained = probability(place, "p_gained", p_gained)
    lost = probability(place, "p_lost", p_lost)
    if gained + lost > 1:
        found = f"{gained} and {lost}"
        refuse(place, "p_gained", found, "p_b + p_c, the chances of a gain and a loss, at most 1")
    return gained, lost


def whole_weights(gained: Fraction, lost: Fraction) -> tuple[int, int, int, int]:
    """Return gain, loss and agreement as whole numbers over their sum."""
    base = math.lcm(gained.denominator, lost.denominator)
    gain, loss = int(gained * base), int(lost * base)
    return gain, loss, base - gain - loss, base


def _mixed(n: int, tails: Iterable[int], agree: int, base: int) -> Fraction:
    """Return the sum over m of C(n, m) agree^(n - m) tail_m, over base^n."""
    if agree == 0:
        *_, last = tails
        return Fraction(last, base**n)
    total, ways = 0, agree**n
    for m, tail in enumerate(tails):
        total += ways * tail
        ways = ways * (n - m) // ((m + 1) * agree)
    return Fraction(total, base**n)
