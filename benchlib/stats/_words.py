"""The words that results share."""

from __future__ import annotations

from fractions import Fraction

from benchlib.stats.printing import print_value

ALTERNATIVES = ("two-sided", "greater", "less")
CONVENTIONS = ("doubling", "minlike", "blaker")


def p_sentence(what: str, p: Fraction | float) -> str:
    """Return a reading of a test: what was seen, and its p."""
    return f"{what}: p = {print_value(p, kind='p')}."


def interval_sentence(
    what: str, estimate: Fraction | float, lower: Fraction | float, upper: Fraction | float
) -> str:
    """Return a reading of an interval: what was estimated, and between what."""
    return (
        f"{what} {print_value(estimate)}, between {print_value(lower, kind='lower')} "
        f"and {print_value(upper, kind='upper')}."
    )


def percent(level: Fraction) -> str:
    """Return a level as people say it.

    Example:
        >>> percent(Fraction(19, 20)), percent(Fraction(975, 1000))
        ('95 %', '97.5 %')
    """
    text = print_value(level * 100, 6).rstrip("0").rstrip(".")
    return f"{text} %"
