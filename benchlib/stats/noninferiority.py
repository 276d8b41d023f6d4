"""Memory does no harm here: a claim of its own, with a margin frozen beforehand."""

from __future__ import annotations

from fractions import Fraction
from typing import SupportsIndex

from benchlib.stats._numbers import Number, inside
from benchlib.stats._unconditional import counts, p_greater
from benchlib.stats._words import p_sentence
from benchlib.stats.paired_unconditional import UnconditionalTest
from benchlib.stats.printing import print_value


def noninferiority_test(
    *, gained: SupportsIndex, lost: SupportsIndex, pairs: SupportsIndex, margin: Number
) -> UnconditionalTest:
    """Test that memory costs at least ``margin`` of the success rate, to reject that.

    The absence of a significant difference shows no absence of harm; this does. With no
    discordant pair, 29 pairs are the least that reject a margin of 0.1 at 5 %.

    Args:
        gained: Pairs that only the treatment arm passed.
        lost: Pairs that only the control arm passed.
        pairs: All pairs, 1 to 2,000.
        margin: Loss of success rate that would matter, above 0 and below 1; the one in
            the frozen plan.

    Returns:
        The one-sided p of "treatment minus control is at most -margin".

    Raises:
        InputError: An argument is out of its range.

    Source:
        Hsueh, Liu & Chen (2001), Biometrics 57, 478-483.

    Example:
        >>> round(noninferiority_test(gained=0, lost=0, pairs=29, margin="0.1").p, 4)
        0.0486
    """
    place = "noninferiority_test"
    b, c, n = counts(place, gained, lost, pairs)
    bound = inside(place, "margin", margin)
    p = p_greater(b, c, n, -bound)
    return UnconditionalTest(
        procedure=place,
        inputs=(("gained", b), ("lost", c), ("pairs", n), ("margin", bound)),
        reading=p_sentence(
            f"{b} gained, {c} lost of {n} pairs against a loss of {print_value(bound)}", p
        ),
        n=n,
        method="Suissa-Shuster with the score statistic",
        estimate=Fraction(b - c, n),
        p=p,
        alternative="greater",
        gained=b,
        lost=c,
        note="no discordant pairs" if b + c == 0 else "",
    )
