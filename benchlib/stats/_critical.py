"""From how many gains on does McNemar's test reject, and how often does it then?

With one more discordant pair a critical value stays or rises by one, and a binomial tail
follows by one addition. So a whole table of them costs a few operations for each row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction


class _Tail:
    """The weight of ``u`` gains or more among ``m`` pairs, times (gain + loss)^m.

    Starts at m = 0 and u = 1. Keeps the weight of exactly u - 1 gains, which is all that
    either step needs.
    """

    def __init__(self, gain: int, loss: int) -> None:
        self.m, self.u, self.weight = 0, 1, 0
        self._gain, self._loss, self._below = gain, loss, 1

    def add_pair(self) -> None:
        """Go from m to m + 1."""
        self.weight = (self._gain + self._loss) * self.weight + self._gain * self._below
        self.m += 1
        self._below = self._below * self.m * self._loss // (self.m + 1 - self.u)

    def point(self) -> int:
        """Return the weight of exactly u gains."""
        if self._loss == 0:
            return self._gain**self.m if self.u == self.m else 0
        return self._below * (self.m + 1 - self.u) * self._gain // (self.u * self._loss)

    def raise_bound(self) -> None:
        """Go from u to u + 1."""
        self._below = self.point()
        self.weight -= self._below
        self.u += 1


def critical_gains(most: int, alpha: Fraction, alternative: str, *, mid_p: bool) -> list[int]:
    """Return for each m up to ``most`` the least gains at which the test rejects.

    Args:
        most: The largest number of discordant pairs.
        alpha: The error, above 0 and below 1; two-sided, half of it for this tail.
        alternative: For ``less`` the least losses, which are the same number.
        mid_p: Whether the observed table counts half.

    Returns:
        One number for each m; m + 1 where nothing rejects.
    """
    share = alpha / 2 if alternative == "two-sided" else alpha
    tail, critical = _Tail(1, 1), list[int]()
    for m in range(most + 1):
        if m:
            tail.add_pair()
        allowed = (2 * share.numerator << m) // share.denominator
        while 2 * tail.weight - (tail.point() if mid_p else 0) > allowed:
            tail.raise_bound()
        critical.append(tail.u)
    return critical


def tail_weights(critical: Sequence[int], gain: int, loss: int) -> Iterator[int]:
    """Yield for m = 0, 1, ... the weight of ``critical[m]`` gains or more.

    Args:
        critical: From 1 on; each as large as the one before, or larger by one.
        gain: Weight of a gain.
        loss: Weight of a loss.

    Yields:
        The probability times (gain + loss)^m.
    """
    tail = _Tail(gain, loss)
    for m, wanted in enumerate(critical):
        if m:
            tail.add_pair()
        while tail.u < wanted:
            tail.raise_bound()
        yield tail.weight
