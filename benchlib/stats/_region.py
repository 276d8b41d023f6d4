"""Which tables of n pairs speak against a risk difference as loudly as the observed one?

The statistic is Tango's score statistic with the discordance as the nuisance parameter.
Tables whose statistic ties with the observed one, up to rounding, belong to the region,
which can only raise p. At a fixed number of discordant pairs the statistic grows with the
gains, so the region is one threshold for each number.
"""

from __future__ import annotations

import math

_TIE = 1e-11


def statistic(b: int, c: int, n: int, delta: float) -> float:
    """Return the score statistic of b gains and c losses against a risk difference.

    Source:
        Tango (1998), Statistics in Medicine 17, 891-908.

    Example:
        >>> statistic(9, 0, 20, 0.0)
        3.0
    """
    m, d = b + c, b - c
    half = m + d * delta
    rest = d * delta - (n - m) * delta * delta
    root = math.sqrt(max(half * half - 4.0 * n * rest, 0.0))
    discordance = min(max((half + root) / (2.0 * n), abs(delta)), 1.0)
    excess, variance = d - n * delta, n * (discordance - delta * delta)
    if variance > 0.0:
        return excess / math.sqrt(variance)
    return math.copysign(math.inf, excess) if excess else 0.0


def thresholds(b: int, c: int, n: int, delta: float) -> list[int]:
    """Return for each m from 0 to n the least gains that are in the region; m + 1 if none."""
    observed = statistic(b, c, n, delta)
    slack = 0.0 if math.isinf(observed) else _TIE * max(1.0, abs(observed))
    bound = observed - slack
    least, found = 0, list[int]()
    for m in range(n + 1):
        while least <= m and statistic(least, m - least, n, delta) < bound:
            least += 1
        while least > 0 and statistic(least - 1, m - least + 1, n, delta) >= bound:
            least -= 1
        found.append(least)
    return found
