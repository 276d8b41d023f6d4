"""Power in floats, for searches; what is close to a target is decided in fractions.

Only additions, multiplications and divisions of numbers between 0 and 1, without
cancellation: the error stays below 1e-11, and every machine makes the same one.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

from benchlib.stats._critical import critical_gains, tail_weights
from benchlib.stats.power import whole_weights

ERROR = 1e-9
"""A hundred times the error of a power that these functions return."""


def rejecting(
    most: int, gained: Fraction, lost: Fraction, alpha: Fraction, alternative: str
) -> list[float]:
    """Return the chance to reject at m = 0 to ``most`` discordant pairs."""
    gain, loss, _, _ = whole_weights(gained, lost)
    critical = critical_gains(most, alpha, alternative, mid_p=False)
    upper, lower = tail_weights(critical, gain, loss), tail_weights(critical, loss, gain)
    chance, scale = list[float](), 1
    for up, down in zip(upper, lower, strict=True):
        weight = (up if alternative != "less" else 0) + (down if alternative != "greater" else 0)
        chance.append(weight / scale)
        scale *= gain + loss
    return chance


def power_by_pairs(chance: Sequence[float], discordant: float) -> list[float]:
    """Return the power of 0, 1, ... pairs, given the chance to reject at each m.

    One pair more is discordant or not: the power seen from m discordant pairs is the
    mixture of that from m and that from m + 1.
    """
    powers, agree = [chance[0]], 1.0 - discordant
    values = list(chance)
    for _ in range(len(chance) - 1):
        values = [agree * a + discordant * b for a, b in itertools.pairwise(values)]
        powers.append(values[0])
    return powers


def tail_chances(critical: Sequence[int], share: float) -> list[float]:
    """Return for each m the chance of ``critical[m]`` gains or more.

    Args:
        critical: From 1 on; each as large as the one before, or larger by one.
        share: Chance that a discordant pair is a gain, 0 to 1.
    """
    other = 1.0 - share
    if other == 0.0:
        return [1.0 if wanted <= m else 0.0 for m, wanted in enumerate(critical)]
    tail, below, u, found = 0.0, 1.0, 1, list[float]()
    for m, wanted in enumerate(critical):
        if m:
            tail += share * below
            below *= m / (m + 1 - u) * other
        if u < wanted:
            below *= (m + 1 - u) / u * share / other
            tail = max(tail - below, 0.0)
            u += 1
        found.append(tail)
    return found


def binomial_weights(n: int, share: float) -> list[float]:
    """Return the chances of 0 to n successes, from the likeliest outwards.

    Starting there, nothing that matters underflows; the sum is made 1 at the end.
    """
    if share in {0.0, 1.0}:
        return [1.0 if m == n * share else 0.0 for m in range(n + 1)]
    mode = min(n, int((n + 1) * share))
    weights = [0.0] * (n + 1)
    weights[mode] = 1.0
    odds = share / (1.0 - share)
    for m in range(mode, n):
        weights[m + 1] = weights[m] * ((n - m) / (m + 1) * odds)
    for m in range(mode, 0, -1):
        weights[m - 1] = weights[m] * (m / (n - m + 1) / odds)
    total = sum_up(weights)
    return [weight / total for weight in weights]


def sum_up(values: Sequence[float]) -> float:
    """Return the sum, added in order: the built-in ``sum`` differs between releases."""
    total = 0.0
    for value in values:
        total += value
    return total
