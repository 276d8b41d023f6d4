"""Stop whenever you like, and still say something true."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from typing import SupportsIndex

from benchlib.stats._numbers import whole
from benchlib.stats._words import p_sentence
from benchlib.stats.printing import print_value
from benchlib.stats.result import Result


@dataclasses.dataclass(frozen=True, kw_only=True)
class Evalue(Result):
    """Evidence against "memory changes nothing" that holds at any stopping time."""

    e: Fraction
    p_anytime: Fraction


def evalue(*, gained: SupportsIndex, lost: SupportsIndex) -> Evalue:
    """Weigh the discordant pairs of a cohort that stopped at an unplanned moment.

    The likelihood ratio of a uniform mixture against one half: 2^m / ((m + 1) C(m, b)).
    If memory changes nothing, the chance that it ever reaches 1 / alpha is at most alpha.

    Args:
        gained: Pairs that only the treatment arm passed, b, 0 or more.
        lost: Pairs that only the control arm passed, 0 or more.

    Returns:
        ``e`` and ``p_anytime`` = min(1, 1 / e), both exact.

    Raises:
        InputError: A count is negative or no whole number.

    Source:
        Ville (1939), Etude critique de la notion de collectif; Robbins (1970), Annals of
        Mathematical Statistics 41, 1397-1409.

    Example:
        >>> evalue(gained=9, lost=2).e
        Fraction(512, 165)
    """
    place = "evalue"
    b, c = whole(place, "gained", gained), whole(place, "lost", lost)
    m = b + c
    e = Fraction(1 << m, (m + 1) * math.comb(m, b))
    p = min(Fraction(1), 1 / e)
    return Evalue(
        procedure=place,
        inputs=(("gained", b), ("lost", c)),
        reading=p_sentence(f"{b} gained, {c} lost, e = {print_value(e)}, at any stop", p),
        n=m,
        method="uniform mixture",
        e=e,
        p=p,
        p_anytime=p,
        gained=b,
        lost=c,
    )
