"""In which direction does a measure move?"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from fractions import Fraction

from benchlib.stats._half import sign_p
from benchlib.stats._numbers import Number, choice, measured
from benchlib.stats._words import ALTERNATIVES, p_sentence
from benchlib.stats.mcnemar import least_of
from benchlib.stats.result import ExactTest


@dataclasses.dataclass(frozen=True, kw_only=True)
class SignTest(ExactTest):
    """A sign test, with the numbers of signs that it saw."""

    positive: int
    negative: int
    zero: int


def sign_test(diffs: Iterable[Number], *, alternative: str = "two-sided") -> SignTest:
    """Test that positive and negative differences are equally likely.

    Zeros are set aside; the rest is McNemar's test.

    Args:
        diffs: Differences of pairs, treatment minus control, one or more.
        alternative: ``two-sided``, ``greater`` (treatment larger) or ``less``.

    Returns:
        The test; 1 when all differences are zero.

    Raises:
        InputError: No difference, one that is no finite number, or an unknown word.

    Source:
        Arbuthnott (1710), Philosophical Transactions 27, 186-190.

    Example:
        >>> test = sign_test([3, -1, 2, 5, 0, 4])
        >>> test.positive, test.negative, test.zero, test.p
        (4, 1, 1, Fraction(3, 8))
    """
    place = "sign_test"
    read = measured(place, "diffs", diffs)
    choice(place, "alternative", alternative, ALTERNATIVES)
    positive, negative = sum(d > 0 for d in read), sum(d < 0 for d in read)
    used = positive + negative
    p = sign_p(positive, negative, alternative) if used else Fraction(1)
    return SignTest(
        procedure=place,
        inputs=(("diffs", read), ("alternative", alternative)),
        reading=p_sentence(f"{positive} up, {negative} down, {len(read) - used} unchanged", p),
        n=len(read),
        method="exact",
        p=p,
        least_p=least_of(used, alternative),
        alternative=alternative,
        convention="doubling",
        positive=positive,
        negative=negative,
        zero=len(read) - used,
        note="" if used else "all differences are zero: nothing to test",
    )
