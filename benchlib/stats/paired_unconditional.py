"""Do the arms differ? The exact test of the unconditional family.

Counts all pairs, not only the discordant ones; its estimate and interval are those of
``paired_difference_interval``. A plan names one family beforehand: b = 9, c = 2, n = 41
gives p = 0.0654 by McNemar and 0.0405 here, and choosing afterwards is what
preregistration forbids.
"""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import SupportsIndex

from benchlib.stats._numbers import Number, choice, rational, refuse
from benchlib.stats._unconditional import counts, p_greater, p_two_sided
from benchlib.stats._words import ALTERNATIVES, p_sentence
from benchlib.stats.printing import print_value
from benchlib.stats.result import Result


@dataclasses.dataclass(frozen=True, kw_only=True)
class UnconditionalTest(Result):
    """A test whose p is a supremum over the discordance, within 1e-9."""

    p: float
    alternative: str


def paired_unconditional_test(
    *,
    gained: SupportsIndex,
    lost: SupportsIndex,
    pairs: SupportsIndex,
    delta0: Number = 0,
    alternative: str = "two-sided",
) -> UnconditionalTest:
    """Test a risk difference of paired proportions, whatever the discordance.

    p is the largest probability, over all discordances, of the tables whose score
    statistic is at least as extreme as the observed; ties belong to them.

    Args:
        gained: Pairs that only the treatment arm passed.
        lost: Pairs that only the control arm passed.
        pairs: All pairs, 1 to 2,000.
        delta0: Risk difference under test, treatment minus control, -1 to 1.
        alternative: ``two-sided`` (twice the smaller p, up to 1), ``greater`` or ``less``.

    Returns:
        ``p``, within 1e-9 of the supremum; ``estimate``, the risk difference.

    Raises:
        InputError: An argument is out of its range.

    Source:
        Suissa & Shuster (1991), Biometrics 47, 361-372; statistic: Tango (1998),
        Statistics in Medicine 17, 891-908.

    Example:
        >>> round(paired_unconditional_test(gained=9, lost=2, pairs=41).p, 4)
        0.0405
    """
    place = "paired_unconditional_test"
    b, c, n = counts(place, gained, lost, pairs)
    delta = rational(place, "delta0", delta0)
    if not -1 <= delta <= 1:
        refuse(place, "delta0", delta0, "a risk difference from -1 to 1")
    choice(place, "alternative", alternative, ALTERNATIVES)
    if alternative == "two-sided":
        p = p_two_sided(b, c, n, delta)
    elif alternative == "greater":
        p = p_greater(b, c, n, delta)
    else:
        p = p_greater(c, b, n, -delta)
    return UnconditionalTest(
        procedure=place,
        inputs=(
            ("gained", b),
            ("lost", c),
            ("pairs", n),
            ("delta0", delta),
            ("alternative", alternative),
        ),
        reading=p_sentence(
            f"{b} gained, {c} lost of {n} pairs against a difference of {print_value(delta)}", p
        ),
        n=n,
        method="Suissa-Shuster with the score statistic",
        estimate=Fraction(b - c, n),
        p=p,
        alternative=alternative,
        convention="doubling",
        gained=b,
        lost=c,
        note="no discordant pairs" if b + c == 0 else "",
    )
