"""Before the spending: how many pairs does it take?"""

from __future__ import annotations

import dataclasses
from fractions import Fraction

from benchlib.stats._numbers import Number, choice, inside, refuse
from benchlib.stats._power_curve import ERROR, power_by_pairs, rejecting
from benchlib.stats._words import ALTERNATIVES
from benchlib.stats.power import MOST_PAIRS, chances, mcnemar_power
from benchlib.stats.printing import print_value
from benchlib.stats.result import Result

_MARGIN = 49  # how far beyond twice the first size the teeth are looked at
_FIRST_TRY = 120


@dataclasses.dataclass(frozen=True, kw_only=True)
class SampleSize(Result):
    """The first size that reaches a power, and the one from which it stays reached."""

    n_first: int
    n_stable: int
    power_at_n_stable: Fraction


def mcnemar_sample_size(
    *,
    p_gained: Number,
    p_lost: Number,
    alpha: Number = "0.05",
    power: Number = "0.8",
    alternative: str = "two-sided",
) -> SampleSize:
    """Find how many pairs McNemar's exact test needs.

    Exact power has teeth: one pair more can lose it. A plan uses ``n_stable``, the least
    n from which every n' up to 2 n_first + 49 reaches the power.

    Args:
        p_gained: Chance that only the treatment arm passes a pair.
        p_lost: Chance that only the control arm does; both together at most 1.
        alpha: The error that is accepted, above 0 and below 1.
        power: The chance to reject that is wanted, above 0 and below 1.
        alternative: ``two-sided``, ``greater`` or ``less``.

    Returns:
        ``n_first``, ``n_stable``, and the exact power at the latter.

    Raises:
        InputError: A number is out of its range, the chances show no effect in the
            direction of the test, or 2,475 pairs do not suffice.

    Source:
        Miettinen (1968), Biometrics 24, 339-352; the teeth: Chernick & Liu (2002), The
        American Statistician 56, 149-155.

    Example:
        >>> mcnemar_sample_size(p_gained="0.3", p_lost="0.05").n_stable
        45
    """
    place = "mcnemar_sample_size"
    gained, lost = chances(place, p_gained, p_lost)
    error, target = inside(place, "alpha", alpha), inside(place, "power", power)
    choice(place, "alternative", alternative, ALTERNATIVES)
    _require_effect(place, gained, lost, alternative)
    search = _Search(gained, lost, error, target, alternative)
    first, stable = search.sizes(place)
    reached = search.power(stable)
    return SampleSize(
        procedure=place,
        inputs=(
            ("p_gained", gained),
            ("p_lost", lost),
            ("alpha", error),
            ("power", target),
            ("alternative", alternative),
        ),
        reading=f"{stable} pairs keep a power of {print_value(target)} or more.",
        n=stable,
        method="exact",
        estimate=gained - lost,
        alternative=alternative,
        convention="doubling",
        n_first=first,
        n_stable=stable,
        power_at_n_stable=reached,
    )


def _require_effect(place: str, gained: Fraction, lost: Fraction, alternative: str) -> None:
    difference = {"greater": gained - lost, "less": lost - gained}.get(
        alternative, abs(gained - lost)
    )
    if difference <= 0:
        refuse(
            place,
            "p_gained",
            f"{gained}, with p_lost {lost}",
            f"p_b and p_c that differ, in the direction {alternative}",
            "name the smallest effect worth finding",
        )


@dataclasses.dataclass(frozen=True)
class _Search:
    gained: Fraction
    lost: Fraction
    alpha: Fraction
    target: Fraction
    alternative: str

    def power(self, pairs: int) -> Fraction:
        return mcnemar_power(
            pairs=pairs,
            p_gained=self.gained,
            p_lost=self.lost,
            alpha=self.alpha,
            alternative=self.alternative,
        ).power

    def sizes(self, place: str) -> tuple[int, int]:
        """Return the first size and the stable one."""
        most = _FIRST_TRY
        while True:
            reaches = self._reaches(most)
            first = next((n for n, is_enough in enumerate(reaches) if n and is_enough), 0)
            end = 2 * first + _MARGIN
            if first and end <= most:
                failing = [n for n in range(first, end + 1) if not reaches[n]]
                return first, (failing[-1] + 1 if failing else first)
            if most == MOST_PAIRS:
                refuse(
                    place,
                    "power",
                    str(self.target),
                    f"a power that {(MOST_PAIRS - _MARGIN) // 2} pairs can reach",
                    "plan for a larger effect, or for less power",
                )
            most = min(max(2 * most, end), MOST_PAIRS)

    def _reaches(self, most: int) -> list[bool]:
        chance = rejecting(most, self.gained, self.lost, self.alpha, self.alternative)
        powers = power_by_pairs(chance, float(self.gained + self.lost))
        goal = float(self.target)
        return [
            value > goal if abs(value - goal) > ERROR or n == 0 else self.power(n) >= self.target
            for n, value in enumerate(powers)
        ]
