"""The exact central interval of one proportion."""

from __future__ import annotations

from fractions import Fraction

from benchlib.stats._tail import limits


def clopper_pearson_limits(successes: int, attempts: int, alpha: Fraction) -> tuple[float, float]:
    """Return the limits at which either tail has the probability alpha / 2.

    The error is halved at the ends too, so that 0 of n and n of n mirror each other.

    Args:
        successes: 0 to ``attempts``.
        attempts: 1 or more.
        alpha: One minus the level.

    Returns:
        Lower and upper limit, correct to 1e-12.

    Source:
        Clopper & Pearson (1934), Biometrika 26, 404-413.

    Example:
        >>> clopper_pearson_limits(1, 1, Fraction(1, 20))
        (0.025, 1.0)
    """
    return limits(successes, attempts, alpha / 2)
