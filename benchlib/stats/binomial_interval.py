"""How often does one arm succeed? The interval of one proportion, by three exact methods.

Clopper-Pearson is the default and the one that summaries print; the two shorter ones are
offered by name. Wald's interval and its relatives are not offered: they don't hold their
level for small samples.
"""

from __future__ import annotations

from fractions import Fraction
from typing import SupportsIndex

from benchlib.stats._numbers import Number, choice, confidence, successes_of, whole
from benchlib.stats._words import interval_sentence
from benchlib.stats.blaker import blaker_limits
from benchlib.stats.clopper_pearson import clopper_pearson_limits
from benchlib.stats.mid_p_interval import mid_p_limits
from benchlib.stats.result import Interval

MOST_ATTEMPTS = 200_000
"""Beyond, the exact binomial coefficient takes seconds."""

METHODS = {
    "clopper-pearson": clopper_pearson_limits,
    "mid-p": mid_p_limits,
    "blaker": blaker_limits,
}
"""Name of a method -> its limits for successes, attempts and one minus the level."""

NOTES = {
    "clopper-pearson": "",
    "mid-p": "mid-p: not guaranteed to cover at its level",
    "blaker": "hull of the acceptable rates",
}
"""What a reader of a limit must know besides the method's name."""


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
            ``blaker``: shorter, and holds its level too. ``mid-p``: shorter, and is not
            guaranteed to; its note says so.

    Returns:
        ``estimate`` is the fraction k / n; the limits are floats, correct to 1e-12.

    Raises:
        InputError: An argument is out of its range, or no number of its kind.

    Source:
        Clopper & Pearson (1934), Biometrika 26, 404-413; Lancaster (1961), JASA 56,
        223-234; Blaker (2000), Canadian Journal of Statistics 28, 783-798.

    Example:
        >>> rate = binomial_interval(successes=0, attempts=20)
        >>> rate.lower, round(rate.upper, 4)
        (0.0, 0.1684)
    """
    place = "binomial_interval"
    n = whole(place, "attempts", attempts, least=1, most=MOST_ATTEMPTS)
    k = successes_of(place, n, successes)
    alpha = 1 - confidence(place, level)
    choice(place, "method", method, tuple(METHODS))
    lower, upper = METHODS[method](k, n, alpha)
    interval = (Fraction(k, n), lower, upper)
    return Interval(
        procedure=place,
        inputs=(("successes", k), ("attempts", n), ("level", 1 - alpha), ("method", method)),
        reading=interval_sentence(f"{k} of {n} succeeded: rate", interval, 1 - alpha),
        n=n,
        method=method,
        estimate=interval[0],
        lower=lower,
        upper=upper,
        level=1 - alpha,
        note=NOTES[method],
    )
