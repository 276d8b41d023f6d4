"""The largest probability of a region of tables, over all discordances.

One evaluation costs O(n): given the region's thresholds, the chance of ``t`` gains or more
among m discordant pairs follows from that among m - 1 by one addition for the pair, and one
for each step of the threshold. The search over the discordance is numerical: about four
points for each standard deviation, then golden section around every local maximum that
comes near the best. It isn't certified; coverage by enumeration is its check.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
_NEAR = 0.95  # of the best: a peak between grid points rises less than this leaves room for
_NEGLIGIBLE = 1e-17


def probability(least: Sequence[int], delta: float, discordance: float) -> float:
    """Return the chance of the region at one risk difference and discordance.

    Args:
        least: For each m from 0 to n the least gains in the region; m + 1 if none.
        delta: Risk difference.
        discordance: Chance that a pair is discordant, from the size of delta to 1.
    """
    n = len(least) - 1
    gain = (discordance + delta) / 2.0
    share = gain / discordance if discordance > 0.0 else 0.5
    first, weights = _discordant(n, discordance)
    if share >= 1.0 or share <= 0.0:
        at = [m if share >= 1.0 else 0 for m in range(n + 1)]  # all discordant pairs alike
        pairs = enumerate(weights, first)
        return _total(weight for m, weight in pairs if at[m] >= least[m])
    tails = _tails(least, share, first + len(weights))
    for _ in range(first):
        next(tails)
    return _total(weight * tail for weight, tail in zip(weights, tails, strict=True))


def _total(values: Iterator[float]) -> float:
    total = 0.0
    for value in values:
        total += value
    return min(total, 1.0)


def _discordant(n: int, discordance: float) -> tuple[int, list[float]]:
    """Return the chances of the numbers of discordant pairs that matter, and the first."""
    if discordance >= 1.0 or discordance <= 0.0:
        return (n if discordance >= 1.0 else 0), [1.0]
    odds = discordance / (1.0 - discordance)
    mode = min(n, int((n + 1) * discordance))
    upward, weight, m = [1.0], 1.0, mode
    while m < n and weight > _NEGLIGIBLE:
        weight *= (n - m) / (m + 1) * odds
        m += 1
        upward.append(weight)
    downward, weight, m = list[float](), 1.0, mode
    while m > 0 and weight > _NEGLIGIBLE:
        weight *= m / (n - m + 1) / odds
        m -= 1
        downward.append(weight)
    weights = downward[::-1] + upward
    scale = 1.0 / math.fsum(weights)
    return m, [weight * scale for weight in weights]


def _tails(least: Sequence[int], share: float, end: int) -> Iterator[float]:
    """Yield for m = 0 to end - 1 the chance of ``least[m]`` gains or more.

    ``below`` is the chance of exactly t - 1 gains: all that either step needs.
    """
    other = 1.0 - share
    odds = share / other
    all_gains, all_losses = 1.0, 1.0  # chances of m gains, of m losses
    tail, below, t = 0.0, 0.0, 0
    for m in range(end):
        wanted = least[m]
        if wanted <= 0:
            tail, t = 1.0, 0
        elif wanted > m:
            tail, t = 0.0, 0
        else:
            if t == 0:  # nothing to go on from: begin at the end that is near
                if 2 * wanted > m:
                    tail, below, t = all_gains, m * all_gains / odds, m
                else:
                    tail, below, t = 1.0 - all_losses, all_losses, 1
            else:
                tail += share * below
                below *= m / (m + 1 - t) * other
            while t < wanted:
                below *= (m + 1 - t) / t * odds
                tail -= below
                t += 1
            while t > wanted:
                tail += below
                t -= 1
                below *= t / (m + 1 - t) / odds
        yield tail
        all_gains *= share
        all_losses *= other


def grid(delta: float, n: int, per_deviation: float) -> list[float]:
    """Return discordances from the size of delta to 1, so many to a standard deviation."""
    here, points = abs(delta), list[float]()
    while here < 1.0:
        points.append(here)
        # At the ends, where the deviation vanishes, half a pair is the scale.
        here += math.sqrt((here * (1.0 - here) + 0.25 / n) / n) / per_deviation
    return [*points, 1.0]


def supremum(
    least: Sequence[int], delta: float, per_deviation: float, *, stop_above: float = 2.0
) -> tuple[float, float]:
    """Return the largest probability that was found, and its discordance.

    Args:
        least: Thresholds of the region.
        delta: Risk difference.
        per_deviation: Grid points for each standard deviation of the discordance.
        stop_above: Return at the first value above this; the search for a limit asks
            only whether there is one.
    """
    points, values = grid(delta, len(least) - 1, per_deviation), list[float]()
    for point in points:
        value = probability(least, delta, point)
        if value > stop_above:
            return value, point
        values.append(value)
    best = max(zip(values, points, strict=True))
    for at in _peaks(values, best[0]):
        low, high = points[max(at - 1, 0)], points[min(at + 1, len(points) - 1)]
        best = max(best, _climb(lambda x: probability(least, delta, x), low, high))
        if best[0] > stop_above:
            break
    return best


def _peaks(values: Sequence[float], best: float) -> Iterator[int]:
    last = len(values) - 1
    for at, value in enumerate(values):
        is_local = value >= values[max(at - 1, 0)] and value >= values[min(at + 1, last)]
        if is_local and value >= _NEAR * best:
            yield at


def _climb(height: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """Return the highest value seen, and where, by golden section."""
    width = high - low
    left, right = high - _GOLDEN * width, low + _GOLDEN * width
    at_left, at_right = height(left), height(right)
    best = max((at_left, left), (at_right, right))
    while high - low > 1e-5 * width:
        if at_left >= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = height(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = height(right)
        best = max(best, (at_left, left), (at_right, right))
    return best
