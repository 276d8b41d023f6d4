"""By how much do the arms differ, among the pairs that differ? The conditional family."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import SupportsIndex

from benchlib.stats._numbers import Number, choice, confidence, whole
from benchlib.stats._words import interval_sentence
from benchlib.stats.binomial_interval import METHODS, NOTES
from benchlib.stats.mcnemar import NOTHING_TO_TEST
from benchlib.stats.result import Interval, Limit


def discordant_odds_ratio(
    *,
    gained: SupportsIndex,
    lost: SupportsIndex,
    level: Number = "0.95",
    method: str = "clopper-pearson",
) -> Interval:
    """Estimate the odds that a discordant pair is a gain, with the test's own interval.

    The limits of the share of gains among discordant pairs, t, mapped by t / (1 - t). At
    one level, the interval leaves out 1 exactly when McNemar's two-sided p is at most
    one minus the level.

    Args:
        gained: Pairs that only the treatment arm passed, 0 or more.
        lost: Pairs that only the control arm passed, 0 or more.
        level: Confidence, above 0 and below 1.
        method: As for ``binomial_interval``.

    Returns:
        ``estimate`` is gained / lost: ``inf`` if none was lost, ``None`` if no pair
        disagrees. Limits from 0 to ``inf``.

    Raises:
        InputError: An argument is out of its range, or no number of its kind.

    Source:
        Clopper & Pearson (1934), Biometrika 26, 404-413, given the discordant pairs.

    Example:
        >>> ratio = discordant_odds_ratio(gained=1, lost=7)
        >>> ratio.estimate, round(ratio.upper, 4)
        (Fraction(1, 7), 1.112)
    """
    place = "discordant_odds_ratio"
    b, c = whole(place, "gained", gained), whole(place, "lost", lost)
    alpha = 1 - confidence(place, level)
    choice(place, "method", method, tuple(METHODS))
    interval = _interval(b, c, alpha, method)
    notes = [NOTHING_TO_TEST] if b + c == 0 else []
    notes += [NOTES[method]] if NOTES[method] else []
    return Interval(
        procedure=place,
        inputs=(("gained", b), ("lost", c), ("level", 1 - alpha), ("method", method)),
        reading=interval_sentence(
            f"{b} gained, {c} lost: odds of a gain among pairs that differ", interval, 1 - alpha
        ),
        n=b + c,
        method=method,
        estimate=interval[0],
        lower=interval[1],
        upper=interval[2],
        level=1 - alpha,
        gained=b,
        lost=c,
        note="; ".join(notes),
    )


def _interval(b: int, c: int, alpha: Fraction, method: str) -> tuple[Limit | None, Limit, Limit]:
    if b + c == 0:
        return None, 0.0, math.inf
    estimate: Limit = Fraction(b, c) if c else math.inf
    lower, mirrored = (METHODS[method](k, b + c, alpha)[0] for k in (b, c))
    # The upper limit comes from the mirrored one: 1 - t would lose its last digits.
    return estimate, lower / (1.0 - lower), (1.0 - mirrored) / mirrored if c else math.inf
