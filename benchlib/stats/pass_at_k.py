"""Any, or all, of k attempts: unbiased from n attempts at each question."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import SupportsIndex

from benchlib.stats._numbers import listed, refuse, whole
from benchlib.stats.printing import print_value
from benchlib.stats.result import Result


def pass_at_k(attempts: Iterable[Sequence[SupportsIndex]], *, k: SupportsIndex) -> Result:
    """Estimate the chance that at least one of k attempts succeeds.

    The mean over questions of 1 - C(n - c, k) / C(n, k). Unbiased; putting the observed
    rate into 1 - (1 - p)^k is not. A difference between arms goes to the cluster test,
    as one fraction for each question.

    Args:
        attempts: For each question, its attempts n and its successes c.
        k: 1 to the smallest n; never clipped.

    Returns:
        ``estimate`` is an exact fraction.

    Raises:
        InputError: No question, more successes than attempts, or k out of range.

    Source:
        Chen et al. (2021), arXiv 2107.03374.

    Example:
        >>> pass_at_k([[5, 2], [5, 5], [5, 0]], k=2).estimate
        Fraction(17, 30)
    """
    return _mean(
        "pass_at_k",
        "any",
        attempts,
        k,
        lambda n, c, size: 1 - Fraction(math.comb(n - c, size), math.comb(n, size)),
    )


def pass_hat_k(attempts: Iterable[Sequence[SupportsIndex]], *, k: SupportsIndex) -> Result:
    """Estimate the chance that all of k attempts succeed.

    The mean over questions of C(c, k) / C(n, k); unbiased.

    Args:
        attempts: For each question, its attempts n and its successes c.
        k: 1 to the smallest n; never clipped.

    Returns:
        ``estimate`` is an exact fraction.

    Raises:
        InputError: No question, more successes than attempts, or k out of range.

    Source:
        Yao et al. (2024), arXiv 2406.12045.

    Example:
        >>> pass_hat_k([[5, 2], [5, 5], [5, 0]], k=2).estimate
        Fraction(11, 30)
    """
    return _mean(
        "pass_hat_k",
        "all",
        attempts,
        k,
        lambda n, c, size: Fraction(math.comb(c, size), math.comb(n, size)),
    )


def _mean(
    place: str,
    word: str,
    attempts: Iterable[Sequence[SupportsIndex]],
    k: SupportsIndex,
    chance: Callable[[int, int, int], Fraction],
) -> Result:
    read = tuple(
        _row(place, f"attempts[{at}]", row)
        for at, row in enumerate(listed(place, "attempts", attempts, least=1))
    )
    fewest = min(n for n, _ in read)
    size = whole(place, "k", k, least=1)
    if size > fewest:
        refuse(place, "k", size, f"at most {fewest}, the attempts at the least tried question")
    estimate = sum((chance(n, c, size) for n, c in read), Fraction(0)) / len(read)
    return Result(
        procedure=place,
        inputs=(("attempts", read), ("k", size)),
        reading=f"{word} of {size} attempts succeed: {print_value(estimate)}.",
        n=len(read),
        method="unbiased",
        estimate=estimate,
    )


def _row(place: str, name: str, row: Sequence[SupportsIndex]) -> tuple[int, int]:
    counts = [whole(place, name, count) for count in listed(place, name, row)]
    if len(counts) != 2 or not 0 <= counts[1] <= counts[0] or counts[0] == 0:
        refuse(place, name, counts, "attempts, 1 or more, and successes among them")
    return counts[0], counts[1]
