"""Do the arms differ? McNemar's exact test, of the conditional family.

Only pairs whose arms disagree speak; its estimate and interval are those of
``discordant_odds_ratio``. For the risk difference there is the unconditional family,
whose test and interval stand in ``paired_difference``; the two are never mixed.
"""

from __future__ import annotations

from fractions import Fraction
from typing import SupportsIndex

from benchlib.stats._half import sign_p
from benchlib.stats._numbers import choice, whole
from benchlib.stats._words import ALTERNATIVES, p_sentence
from benchlib.stats.result import ExactTest

NOTHING_TO_TEST = "no discordant pairs: nothing to test"


def mcnemar_test(
    *,
    gained: SupportsIndex,
    lost: SupportsIndex,
    alternative: str = "two-sided",
    mid_p: bool = False,
) -> ExactTest:
    """Test that memory changes no outcome, from the pairs whose arms disagree.

    Given m = gained + lost discordant pairs, ``gained`` is Binomial(m, 1/2) if memory
    changes nothing. Pairs whose arms agree carry no weight. The two-sided p doubles the
    smaller tail; at one half the other two conventions give the same.

    Args:
        gained: Pairs that only the treatment arm passed, 0 or more.
        lost: Pairs that only the control arm passed, 0 or more.
        alternative: ``two-sided``, ``greater`` (treatment better) or ``less``.
        mid_p: Whether the observed table counts half. No longer guaranteed to hold its
            level; the note says so.

    Returns:
        The test; ``p`` is an exact fraction in (0, 1], and 1 when no pair disagrees.

    Raises:
        InputError: A count is negative or no whole number; ``alternative`` is unknown.

    Source:
        McNemar (1947), Psychometrika 12, 153-157; the exact form is the sign test.
        Mid-p: Lancaster (1961), JASA 56, 223-234.

    Example:
        >>> mcnemar_test(gained=9, lost=1).p
        Fraction(11, 512)
    """
    place = "mcnemar_test"
    b, c = whole(place, "gained", gained), whole(place, "lost", lost)
    choice(place, "alternative", alternative, ALTERNATIVES)
    m = b + c
    p = sign_p(b, c, alternative, mid_p=mid_p) if m else Fraction(1)
    notes = [NOTHING_TO_TEST] if m == 0 else []
    notes += ["mid-p: not guaranteed to hold its level"] if mid_p else []
    return ExactTest(
        procedure=place,
        inputs=(("gained", b), ("lost", c), ("alternative", alternative), ("mid_p", bool(mid_p))),
        reading=p_sentence(f"{b} gained, {c} lost", p),
        n=m,
        method="mid-p" if mid_p else "exact",
        p=p,
        least_p=least_of(m, alternative, mid_p=mid_p),
        alternative=alternative,
        convention="doubling",
        gained=b,
        lost=c,
        note="; ".join(notes),
    )


def least_of(m: int, alternative: str, *, mid_p: bool = False) -> Fraction:
    """Return the least p that m discordant pairs can give."""
    if m == 0:
        return Fraction(1)
    ends = (0, m) if alternative == "less" else (m, 0)
    return sign_p(*ends, alternative, mid_p=mid_p)


mcnemar_exact = mcnemar_test
"""The test under the name that names its method."""
