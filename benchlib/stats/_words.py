"""The words that results share."""

from __future__ import annotations

from fractions import Fraction

from benchlib.stats.printing import print_value
from benchlib.stats.result import Limit

ALTERNATIVES = ("two-sided", "greater", "less")


def p_sentence(what: str, p: Limit) -> str:
    """Return a reading of a test: what was seen, and its p."""
    return f"{what}: p = {print_value(p, kind='p')}."


def interval_sentence(
    what: str, interval: tuple[Limit | None, Limit, Limit], level: Fraction
) -> str:
    """Return a reading of an interval: what was estimated, between what, how surely."""
    estimate, lower, upper = interval
    middle = "undefined" if estimate is None else print_value(estimate)
    low, high = print_value(lower, kind="lower"), print_value(upper, kind="upper")
    return f"{what} {middle}, {percent(level)} interval {low} to {high}."


def percent(level: Fraction) -> str:
    """Return a level as people say it, never higher than it is.

    Example:
        >>> percent(Fraction(19, 20)), percent(Fraction(975, 1000))
        ('95 %', '97.5 %')
    """
    text = print_value(level * 100, 6, kind="lower").rstrip("0").rstrip(".")
    return f"{text} %"
