"""Looks that were planned beforehand, on counts of discordant pairs, where all is exact.

A plan in pairs states the discordant counts at which it looks. A cohort that stopped at
another moment gets the e-value, or no p at all.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import SupportsIndex

from benchlib.stats._numbers import Number, inside, listed, probability, refuse, whole
from benchlib.stats._words import p_sentence
from benchlib.stats.printing import print_value
from benchlib.stats.result import Result

Look = Mapping[str, SupportsIndex] | Sequence[SupportsIndex]
"""The discordant count ``m`` of a look with its bounds ``lower`` and ``upper``."""

_MOST_LOOK = 2000


@dataclasses.dataclass(frozen=True, kw_only=True)
class Boundaries(Result):
    """At each look the upper bound, or none; the lower bound mirrors it."""

    upper_bounds: tuple[int | None, ...]
    size: Fraction


@dataclasses.dataclass(frozen=True, kw_only=True)
class StoppingPlan(Result):
    """What a plan with looks does at one true share of gains."""

    reject: Fraction
    reject_per_look: tuple[Fraction, ...]
    stop_per_look: tuple[Fraction, ...]
    expected_m: Fraction


def sequential_boundaries(
    *, looks: Iterable[SupportsIndex], alpha: Number = "0.05", spend: Iterable[Number]
) -> Boundaries:
    """Set symmetric two-sided bounds that keep the level over all looks.

    At each look the smallest upper bound u above m / 2 (the lower one is m - u) whose
    added chance of crossing keeps the sum at most alpha times the share spent so far;
    none if no bound fits. What isn't spent stays for later looks.

    Args:
        looks: Discordant counts m at which to look, ascending, up to 2,000.
        alpha: The error over all looks, above 0 and below 1.
        spend: Shares of alpha spent by each look, 0 to 1, never falling.

    Returns:
        ``upper_bounds`` and the exact ``size`` over all looks.

    Raises:
        InputError: Looks do not ascend, shares fall or differ in number, or a number is
            out of range.

    Source:
        Lan & DeMets (1983), Biometrika 70, 659-663; Jennison & Turnbull (2000), Group
        Sequential Methods.

    Example:
        >>> plan = sequential_boundaries(looks=[8, 16, 24], spend=["1/3", "2/3", 1])
        >>> plan.upper_bounds, str(plan.size)
        ((8, 13, 18), '165849/4194304')
    """
    place = "sequential_boundaries"
    counts = _looks(place, looks)
    error = inside(place, "alpha", alpha)
    shares = _shares(place, spend, len(counts))
    walk, uppers = _Walk(), list[int | None]()
    for m, share in zip(counts, shares, strict=True):
        walk.go_to(m)
        uppers.append(walk.smallest_bound(error * share))
        walk.stop_beyond(uppers[-1])
    size = walk.stopped
    return Boundaries(
        procedure=place,
        inputs=(("looks", counts), ("alpha", error), ("spend", shares)),
        reading=f"bounds {_bare(uppers)} at {_bare(counts)}: size {print_value(size)}.",
        n=counts[-1],
        method="exact spending",
        alternative="two-sided",
        upper_bounds=tuple(uppers),
        size=size,
    )


def sequential_plan(*, looks: Iterable[Look], theta: Number) -> StoppingPlan:
    """Say what a plan with looks does if the share of gains is ``theta``.

    Stop and reject at x >= upper, stop and accept at x <= lower; the last look ends it.

    Args:
        looks: For each look its discordant count ``m`` and bounds ``lower`` and ``upper``
            on the gains, by name or in this order; -1 and m + 1 are never reached.
        theta: True share of gains among discordant pairs, 0 to 1.

    Returns:
        Chances to reject and to stop, in all and by look, and the expected m; all exact.

    Raises:
        InputError: Looks do not ascend, bounds cross, or a number is out of range.

    Source:
        Simon (1989), Controlled Clinical Trials 10, 1-10, for designs of this form.

    Example:
        >>> looks = [{"m": 10, "lower": 1, "upper": 11}, {"m": 29, "lower": 5, "upper": 6}]
        >>> float(round(sequential_plan(looks=looks, theta="0.1").expected_m, 4))
        15.0141
    """
    place = "sequential_plan"
    bounds = [_bounds(place, at, look) for at, look in enumerate(listed(place, "looks", looks))]
    counts = _looks(place, [m for m, _, _ in bounds])
    share = probability(place, "theta", theta)
    walk, rejected, stopped = _Walk(share), list[Fraction](), list[Fraction]()
    for m, lower, upper in bounds:
        walk.go_to(m)
        high = walk.take(upper, m)
        low = walk.take(0, m if m == counts[-1] else lower)
        rejected.append(high)
        stopped.append(high + low)
    return StoppingPlan(
        procedure=place,
        inputs=(("looks", tuple(bounds)), ("theta", share)),
        reading=f"rejects with probability {print_value(sum(rejected))}.",
        n=counts[-1],
        method="exact paths",
        reject=sum(rejected, Fraction(0)),
        reject_per_look=tuple(rejected),
        stop_per_look=tuple(stopped),
        expected_m=sum((m * s for m, s in zip(counts, stopped, strict=True)), Fraction(0)),
    )


def sequential_p_value(
    *,
    looks: Iterable[SupportsIndex],
    uppers: Iterable[SupportsIndex | None],
    stopped_at: SupportsIndex,
    x: SupportsIndex,
) -> Result:
    """Give the p of a cohort that stopped at a planned look.

    The chance, if memory changes nothing, to have stopped at an earlier bound, plus that
    to reach this look at least as far from m / 2 as observed (stagewise
    ordering).

    Args:
        looks: Discordant counts m of the plan, ascending.
        uppers: Its upper bounds, ``None`` where a look has none.
        stopped_at: The look that ended it, 1 for the first.
        x: Gains at that look, 0 to m.

    Returns:
        ``p`` is exact.

    Raises:
        InputError: The look is not one of the plan, x crossed no bound although looks
            were left (an unplanned stop: use ``evalue``), or cannot be reached.

    Source:
        Fairbanks & Madsen (1982), Biometrika 69, 69-74.

    Example:
        >>> sequential_p_value(looks=[8, 16], uppers=[8, 13], stopped_at=1, x=8).p
        Fraction(1, 128)
    """
    place = "sequential_p_value"
    counts = _looks(place, looks)
    bounds = _uppers(place, uppers, counts)
    at = whole(place, "stopped_at", stopped_at, least=1, most=len(counts)) - 1
    m = counts[at]
    seen = whole(place, "x", x, most=m)
    bound = bounds[at]
    if at + 1 < len(counts) and (bound is None or max(seen, m - seen) < bound):
        refuse(place, "x", seen, "a count that crosses the bound of its look", "use evalue")
    walk = _Walk()
    for count, upper in zip(counts[:at], bounds[:at], strict=True):
        walk.go_to(count)
        walk.stop_beyond(upper)
    walk.go_to(m)
    if walk.weights[seen] == 0:
        refuse(place, "x", seen, "a count that no earlier bound made impossible")
    walk.stop_beyond(max(seen, m - seen))
    p = min(Fraction(1), walk.stopped)
    return Result(
        procedure=place,
        inputs=(("looks", counts), ("uppers", bounds), ("stopped_at", at + 1), ("x", seen)),
        reading=p_sentence(f"stopped at look {at + 1} with {seen} gains of {m}", p),
        n=m,
        method="stagewise ordering",
        alternative="two-sided",
        p=p,
        gained=seen,
        lost=m - seen,
    )


class _Walk:
    """All paths of a count of gains that were not stopped, by where they stand.

    Weights are whole numbers: a path's probability times denominator^m.
    """

    def __init__(self, theta: Fraction = Fraction(1, 2)) -> None:
        self.m = 0
        self.weights = [1]
        self.stopped = Fraction(0)
        self._gain = theta.numerator
        self._loss = theta.denominator - theta.numerator
        self._base = theta.denominator

    def go_to(self, m: int) -> None:
        """Take steps without a look until there are m."""
        for _ in range(m - self.m):
            stay = [self._loss * weight for weight in (*self.weights, 0)]
            step = [self._gain * weight for weight in (0, *self.weights)]
            self.weights = [a + b for a, b in zip(stay, step, strict=True)]
        self.m = m

    def take(self, first: int, last: int) -> Fraction:
        """Stop the paths with ``first`` to ``last`` gains; return their probability."""
        taken = 0
        for x in range(max(first, 0), min(last, self.m) + 1):
            taken += self.weights[x]
            self.weights[x] = 0
        return Fraction(taken, self._base**self.m)

    def stop_beyond(self, upper: int | None) -> None:
        """Stop at or beyond a symmetric bound above m / 2, or at m / 2 itself."""
        if upper is not None:
            self.stopped += self.take(upper, self.m) + self.take(0, self.m - upper)

    def smallest_bound(self, allowed: Fraction) -> int | None:
        """Return the smallest bound that keeps what was stopped at most ``allowed``."""
        room = (allowed - self.stopped) * self._base**self.m
        bound, crossing = None, 0
        for u in range(self.m, self.m // 2, -1):
            crossing += self.weights[u] + self.weights[self.m - u]
            if crossing > room:
                break
            bound = u
        return bound


def _looks(place: str, looks: Iterable[SupportsIndex]) -> tuple[int, ...]:
    counts = tuple(
        whole(place, f"looks[{at}]", look, least=1, most=_MOST_LOOK)
        for at, look in enumerate(listed(place, "looks", looks, least=1))
    )
    if any(b <= a for a, b in itertools.pairwise(counts)):
        refuse(place, "looks", counts, "discordant counts that ascend")
    return counts


def _shares(place: str, spend: Iterable[Number], looks: int) -> tuple[Fraction, ...]:
    shares = tuple(
        probability(place, f"spend[{at}]", share)
        for at, share in enumerate(listed(place, "spend", spend))
    )
    if len(shares) != looks or any(b < a for a, b in itertools.pairwise(shares)):
        refuse(place, "spend", [str(s) for s in shares], f"{looks} shares that never fall")
    return shares


def _uppers(
    place: str, uppers: Iterable[SupportsIndex | None], counts: Sequence[int]
) -> tuple[int | None, ...]:
    given = listed(place, "uppers", uppers)
    if len(given) != len(counts):
        refuse(place, "uppers", given, f"{len(counts)} bounds, one for each look")
    return tuple(
        None if u is None else whole(place, f"uppers[{at}]", u, least=counts[at] // 2 + 1)
        for at, u in enumerate(given)
    )


def _bare(values: Iterable[int | None]) -> str:
    return ", ".join("none" if value is None else str(value) for value in values)


def _bounds(place: str, at: int, look: Look) -> tuple[int, int, int]:
    name, parts = f"looks[{at}]", ("m", "lower", "upper")
    if isinstance(look, Mapping):
        given = tuple(look[part] for part in parts if part in look and len(look) == len(parts))
    else:
        given = listed(place, name, look)
    if len(given) != len(parts):
        refuse(place, name, look, "m, lower and upper")
    m, lower, upper = (
        whole(place, f"{name}.{part}", value, least=-1)
        for part, value in zip(parts, given, strict=True)
    )
    if lower >= upper:
        refuse(place, name, look, "a lower bound below the upper")
    return m, lower, upper
