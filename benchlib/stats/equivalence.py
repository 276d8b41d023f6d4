"""Memory changes nothing that matters: two one-sided tests against a frozen margin."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import SupportsIndex

from benchlib.stats._numbers import Number, inside
from benchlib.stats._unconditional import counts, p_greater
from benchlib.stats._words import p_sentence
from benchlib.stats.paired_unconditional import UnconditionalTest
from benchlib.stats.printing import print_value


@dataclasses.dataclass(frozen=True, kw_only=True)
class EquivalenceTest(UnconditionalTest):
    """The larger of two one-sided p-values, and both of them."""

    p_lower: float
    p_upper: float


def equivalence_test(
    *, gained: SupportsIndex, lost: SupportsIndex, pairs: SupportsIndex, margin: Number
) -> EquivalenceTest:
    """Test that the risk difference is ``margin`` or more in size, to reject that.

    Rejecting at alpha is the same as the interval of level 1 - 2 alpha lying strictly
    inside the margin on both sides.

    Args:
        gained: Pairs that only the treatment arm passed.
        lost: Pairs that only the control arm passed.
        pairs: All pairs, 1 to 2,000.
        margin: Difference that would matter, above 0 and below 1; the one in the frozen
            plan.

    Returns:
        ``p_lower`` against -margin, ``p_upper`` against margin, and ``p``, the larger.

    Raises:
        InputError: An argument is out of its range.

    Source:
        Schuirmann (1987), Journal of Pharmacokinetics and Biopharmaceutics 15, 657-680;
        Liu, Hsueh, Hsieh & Chen (2002), Statistics in Medicine 21, 231-245.

    Example:
        >>> round(equivalence_test(gained=2, lost=2, pairs=40, margin="0.15").p, 4)
        0.0131
    """
    place = "equivalence_test"
    b, c, n = counts(place, gained, lost, pairs)
    bound = inside(place, "margin", margin)
    p_lower, p_upper = p_greater(b, c, n, -bound), p_greater(c, b, n, -bound)
    p = max(p_lower, p_upper)
    return EquivalenceTest(
        procedure=place,
        inputs=(("gained", b), ("lost", c), ("pairs", n), ("margin", bound)),
        reading=p_sentence(
            f"{b} gained, {c} lost of {n} pairs against a difference of {print_value(bound)}", p
        ),
        n=n,
        method="two one-sided Suissa-Shuster tests",
        estimate=Fraction(b - c, n),
        p=p,
        p_lower=p_lower,
        p_upper=p_upper,
        alternative="equivalent",
        gained=b,
        lost=c,
        note="no discordant pairs" if b + c == 0 else "",
    )
