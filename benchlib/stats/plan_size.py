"""The table that a preregistration needs: size, power and price for guesses of the discordance."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from fractions import Fraction

from benchlib.stats._numbers import Number, choice, inside, listed, rational, refuse
from benchlib.stats._words import percent
from benchlib.stats.power import mcnemar_power
from benchlib.stats.printing import print_value
from benchlib.stats.result import Input, canonical_json
from benchlib.stats.sample_size import mcnemar_sample_size
from benchlib.stats.smallest_difference import smallest_detectable_difference

ALTERNATIVES = ("two-sided", "greater")

# Added to the difference, for a guess of how many pairs disagree: no pair lost by memory,
# one pair in twenty lost, one in ten.
_STEPS = (Fraction(0), Fraction(1, 10), Fraction(1, 5))


@dataclasses.dataclass(frozen=True, kw_only=True)
class PlanRow:
    """The size at one guess of the discordance."""

    discordant: Fraction  # chance that the arms of a pair disagree
    p_gained: Fraction
    p_lost: Fraction
    n_first: int
    n_stable: int  # the pairs to plan for
    power: Fraction  # at n_stable
    wrong_direction: Fraction  # part of it
    detectable: float | None  # smallest difference at n_stable and this discordance
    price: Fraction | None  # of n_stable pairs, in the unit of the price of one


@dataclasses.dataclass(frozen=True, kw_only=True)
class PlanSize:
    """Sizes for three guesses, and what they hold for."""

    inputs: tuple[tuple[str, Input], ...]
    difference: Fraction
    alpha: Fraction
    target: Fraction
    alternative: str
    rows: tuple[PlanRow, ...]

    def canonical_json(self) -> str:
        """Return the table as text that has one form only."""
        return canonical_json(self)

    def in_words(self) -> str:
        """Return the table as Markdown under a sentence that says what it holds for."""
        head = (
            f"Pairs to show a difference of {print_value(self.difference)} with McNemar's exact "
            f"test ({self.alternative}, alpha {print_value(self.alpha)}, "
            f"power {percent(self.target)} or more)."
        )
        columns = "| discordant | gained | lost | first n | n to plan | power | wrong way | price |"
        lines = [head, "", columns, "|" + " --- |" * 8, *(_line(row) for row in self.rows)]
        tail = (
            "The discordance is a guess: plan for the row you can defend, and say which. From "
            '"n to plan" on, every larger size keeps the power; "first n" may lose it again.'
        )
        return "\n".join([*lines, "", tail])


def plan_size(
    *,
    difference: Number,
    alpha: Number = "0.05",
    power: Number = "0.8",
    price: Number | None = None,
    discordances: Iterable[Number] | None = None,
    alternative: str = "two-sided",
) -> PlanSize:
    """Say how many pairs a cohort needs, and what they cost, at guesses of the discordance.

    Args:
        difference: Smallest risk difference worth finding, treatment minus control, above
            0 and below 1.
        alpha: The error that is accepted, above 0 and below 1.
        power: The chance to find the difference, above 0 and below 1.
        price: What one pair costs, 0 or more, in any unit.
        discordances: Guesses of the chance that the arms of a pair disagree, each at
            least ``difference``. By default the difference itself, and a tenth and a
            fifth more.
        alternative: ``two-sided`` or ``greater``.

    Returns:
        One row for each guess; ``in_words()`` is the table as text.

    Raises:
        InputError: An argument is out of its range, a guess is smaller than the
            difference, or the size is out of reach.

    Example:
        >>> plan = plan_size(difference="0.25", price="1.50", discordances=["0.35"])
        >>> plan.rows[0].n_stable, str(plan.rows[0].price)
        (45, '135/2')
    """
    place = "plan_size"
    effect = inside(place, "difference", difference)
    error, target = inside(place, "alpha", alpha), inside(place, "power", power)
    choice(place, "alternative", alternative, ALTERNATIVES)
    cost = None if price is None else rational(place, "price", price)
    if cost is not None and cost < 0:
        refuse(place, "price", price, "the price of a pair, 0 or more")
    guesses = _guesses(place, discordances, effect)
    return PlanSize(
        inputs=(
            ("difference", effect),
            ("alpha", error),
            ("power", target),
            ("price", cost),
            ("discordances", guesses),
            ("alternative", alternative),
        ),
        difference=effect,
        alpha=error,
        target=target,
        alternative=alternative,
        rows=tuple(
            _row(
                effect=effect,
                discordant=guess,
                alpha=error,
                target=target,
                alternative=alternative,
                price=cost,
            )
            for guess in guesses
        ),
    )


def _guesses(
    place: str, discordances: Iterable[Number] | None, effect: Fraction
) -> tuple[Fraction, ...]:
    if discordances is None:
        return tuple(dict.fromkeys(min(effect + step, Fraction(1)) for step in _STEPS))
    guesses = []
    for at, guess in enumerate(listed(place, "discordances", discordances, least=1)):
        read = rational(place, f"discordances[{at}]", guess)
        if not effect <= read <= 1:
            refuse(place, f"discordances[{at}]", guess, f"from the difference, {effect}, to 1")
        guesses.append(read)
    return tuple(guesses)


def _row(
    *,
    effect: Fraction,
    discordant: Fraction,
    alpha: Fraction,
    target: Fraction,
    alternative: str,
    price: Fraction | None,
) -> PlanRow:
    gained, lost = (discordant + effect) / 2, (discordant - effect) / 2
    size = mcnemar_sample_size(
        p_gained=gained, p_lost=lost, alpha=alpha, power=target, alternative=alternative
    )
    at = size.n_stable
    power = mcnemar_power(
        pairs=at, p_gained=gained, p_lost=lost, alpha=alpha, alternative=alternative
    )
    found = smallest_detectable_difference(
        pairs=at, discordant=discordant, alpha=alpha, power=target, alternative=alternative
    )
    return PlanRow(
        discordant=discordant,
        p_gained=gained,
        p_lost=lost,
        n_first=size.n_first,
        n_stable=at,
        power=power.power,
        wrong_direction=power.wrong_direction,
        detectable=found.difference,
        price=None if price is None else at * price,
    )


def _line(row: PlanRow) -> str:
    cells = [
        print_value(row.discordant),
        print_value(row.p_gained),
        print_value(row.p_lost),
        str(row.n_first),
        str(row.n_stable),
        print_value(row.power, kind="lower"),
        print_value(row.wrong_direction, kind="upper"),
        "-" if row.price is None else print_value(row.price, 2, kind="upper"),
    ]
    return "| " + " | ".join(cells) + " |"
