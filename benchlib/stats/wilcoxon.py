"""How far does a measure shift? Signed ranks, with ties exact."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from fractions import Fraction

from benchlib.stats._flips import flip_p, least_flip_p, to_units
from benchlib.stats._numbers import Number, choice, measured
from benchlib.stats._words import ALTERNATIVES, p_sentence
from benchlib.stats.printing import print_value
from benchlib.stats.result import ExactTest

ZEROS = ("drop", "pratt")


@dataclasses.dataclass(frozen=True, kw_only=True)
class SignedRankTest(ExactTest):
    """A signed-rank test, with its statistic and the number of ranks that carry a sign."""

    w_plus: Fraction
    n_used: int


def wilcoxon_signed_rank(
    diffs: Iterable[Number], *, zeros: str = "drop", alternative: str = "two-sided"
) -> SignedRankTest:
    """Test that differences are symmetric around zero, by their signed midranks.

    The p comes from the distribution of exactly these midranks over all sign patterns: no
    table for untied ranks, no continuity correction, no normal approximation.

    Args:
        diffs: Differences of pairs, treatment minus control, one or more.
        zeros: ``drop`` removes zeros before ranking, ``pratt`` ranks them first.
        alternative: ``two-sided``, ``greater`` (treatment larger) or ``less``.

    Returns:
        The test; ``w_plus`` is the sum of the ranks of positive differences. When all
        are zero, p is 1.

    Raises:
        InputError: No difference, one that is no finite number, an unknown word, or
            more differences than can be counted exactly (some 1,200).

    Source:
        Wilcoxon (1945), Biometrics Bulletin 1, 80-83; zeros: Pratt (1959), JASA 54,
        655-667; ties: Streitberg & Roehmel (1986), Statistical Software Newsletter 12.

    Example:
        >>> test = wilcoxon_signed_rank([3, -1, 2, 5, 0, 4])
        >>> int(test.w_plus), test.n_used, test.p
        (14, 5, Fraction(1, 8))
    """
    place = "wilcoxon_signed_rank"
    read = measured(place, "diffs", diffs)
    choice(place, "zeros", zeros, ZEROS)
    choice(place, "alternative", alternative, ALTERNATIVES)
    units = to_units(read)  # whole numbers rank alike, and much faster
    ranked = units if zeros == "pratt" else [d for d in units if d]
    ranks = doubled_midranks([abs(d) for d in ranked])
    signed = [r if d > 0 else -r for r, d in zip(ranks, ranked, strict=True) if d]
    w_plus = Fraction(sum(rank for rank in signed if rank > 0), 2)
    p = flip_p(place, "diffs", signed, alternative)
    return SignedRankTest(
        procedure=place,
        inputs=(("diffs", read), ("zeros", zeros), ("alternative", alternative)),
        reading=p_sentence(
            f"signed ranks of {len(signed)} differences, {print_value(w_plus, 1)} up", p
        ),
        n=len(read),
        method=f"exact midranks, zeros {zeros}",
        p=p,
        least_p=least_flip_p(signed, alternative),
        alternative=alternative,
        convention="doubling",
        w_plus=w_plus,
        n_used=len(signed),
        note="" if signed else "all differences are zero: nothing to test",
    )


def doubled_midranks(values: Sequence[int]) -> list[int]:
    """Return twice the rank of each value from 1; equal values share the mean of theirs.

    Example:
        >>> doubled_midranks([5, 2, 5])
        [5, 2, 5]
    """
    first, last = dict[int, int](), dict[int, int]()
    for place, value in enumerate(sorted(values), 1):
        first.setdefault(value, place)
        last[value] = place
    return [first[value] + last[value] for value in values]
