"""A shorter interval of one proportion that is not guaranteed to hold its level."""

from __future__ import annotations

from fractions import Fraction

from benchlib.stats._tail import limits


def mid_p_limits(successes: int, attempts: int, alpha: Fraction) -> tuple[float, float]:
    """Return the limits at which either tail, the observed point half, is alpha / 2.

    Args:
        successes: 0 to ``attempts``.
        attempts: 1 or more.
        alpha: One minus the level.

    Returns:
        Lower and upper limit, correct to 1e-12.

    Source:
        Lancaster (1961), JASA 56, 223-234.

    Example:
        >>> mid_p_limits(1, 1, Fraction(1, 20))
        (0.05, 1.0)
    """
    return limits(successes, attempts, alpha / 2, mid_p=True)
