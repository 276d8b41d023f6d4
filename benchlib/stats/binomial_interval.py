"""How often does one arm succeed? The interval of one proportion, by three exact methods.

Clopper-Pearson is the default and the one that summaries print; the two shorter ones are
offered by name. Wald's interval and its relatives are not offered: they don't hold their
level for small samples.
"""

from __future__ import annotations

from fractions import Fraction
from typing import SupportsIndex

from benchlib.stats._numbers import Number, choice, confidence, refuse, whole
from benchlib.stats._words import interval_sentence, percent
from benchlib.stats.clopper_pearson import clopper_pearson_limits
from benchlib.stats.result import Interval

MOST_ATTEMPTS = 200_000
"""Beyond, the exact binomial coefficient takes seconds."""

METHODS = {"clopper-pearson": clopper_pearson_limits}
"""Name of a method -> its limits for successes, attempts and one minus the level."""


def binomial_interval(
    *,
    successes: SupportsIndex,
    attempts: SupportsIndex,
    level: Number = "0.95",
    method: str = "clopper-pearson",
) -> Interval:
    """Estimate a success rate, with an exact confidence interval.

    Args:
        successes: Attempts that succeeded, k with 0 <= k <= n.
        attempts: Independent attempts, n, 1 to 200,000.
        level: Confidence, above 0 and below 1.
        method: ``clopper-pearson``: either tail has (1 - level) / 2, also at the ends.

    Returns:
        ``estimate`` is the fraction k / n; the limits are floats, correct to 1e-12.

    Raises:
        InputError: An argument is out of its range, or no number of its kind.

    Source:
        Clopper & Pearson (1934), Biometrika 26, 404-413.

    Example:
        >>> rate = binomial_interval(successes=0, attempts=20)
        >>> rate.lower, round(rate.upper, 4)
        (0.0, 0.1684)
    """
    place = "binomial_interval"
    n = whole(place, "attempts", attempts, least=1, most=MOST_ATTEMPTS)
    k = whole(place, "successes", successes)
    if k > n:
        refuse(place, "successes", k, f"k of n attempts, 0 to {n}")
    alpha = 1 - confidence(place, level)
    choice(place, "method", method, tuple(METHODS))
    lower, upper = METHODS[method](k, n, alpha)
    estimate = Fraction(k, n)
    return Interval(
        procedure=place,
        inputs=(("successes", k), ("attempts", n), ("level", 1 - alpha), ("method", method)),
        reading=interval_sentence(f"{k} of {n} succeeded: rate", estimate, lower, upper),
        n=n,
        method=method,
        estimate=estimate,
        lower=lower,
        upper=upper,
        level=1 - alpha,
        note=f"{percent(1 - alpha)} confidence",
    )
