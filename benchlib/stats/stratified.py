"""Repeated attempts at these very questions: an exact test inside each question."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import SupportsIndex

from benchlib.stats._numbers import choice, listed, refuse, whole
from benchlib.stats._words import ALTERNATIVES, p_sentence
from benchlib.stats.result import ExactTest

CONVENTIONS = ("doubling", "minlike")

_MOST_STEPS = 20_000_000  # products of a convolution: some ten seconds


def stratified_exact_test(
    strata: Iterable[Sequence[SupportsIndex]],
    *,
    alternative: str = "two-sided",
    convention: str = "doubling",
) -> ExactTest:
    """Test that memory changes the success rate of none of these questions.

    Given a question's attempts and total successes, the treatment's share of them is
    hypergeometric if memory changes nothing; the statistic is the sum of the shares. A
    claim about these questions, not about questions like them.

    Args:
        strata: For each question: successes and attempts of the treatment arm, then of
            the control arm.
        alternative: ``two-sided``, ``greater`` (treatment better) or ``less``.
        convention: Of the two-sided p: ``doubling``, or ``minlike`` (all sums that are
            not more likely than the observed).

    Returns:
        The test; ``n`` counts questions.

    Raises:
        InputError: No question, a row that is not four counts, more successes than
            attempts, an unknown word, or more attempts than can be counted exactly.

    Source:
        Cochran (1954), Biometrics 10, 417-451; Mantel & Haenszel (1959), JNCI 22,
        719-748; exact form: Mehta, Patel & Gray (1985), JASA 80, 969-973.

    Example:
        >>> stratified_exact_test([[4, 5, 1, 5], [3, 5, 3, 5], [5, 5, 2, 5], [0, 5, 0, 5]]).p
        Fraction(1409, 21168)
    """
    place = "stratified_exact_test"
    choice(place, "alternative", alternative, ALTERNATIVES)
    choice(place, "convention", convention, CONVENTIONS)
    read = tuple(
        _row(place, f"strata[{at}]", row)
        for at, row in enumerate(listed(place, "strata", strata, least=1))
    )
    observed, weights = _distribution(place, read)
    rule = convention if alternative == "two-sided" else alternative
    p = _p(weights, observed, rule)
    treated, control = (sum(row[at] for row in read) for at in (0, 2))
    return ExactTest(
        procedure=place,
        inputs=(("strata", read), ("alternative", alternative), ("convention", convention)),
        reading=p_sentence(
            f"{treated} successes with, {control} without, inside {len(read)} questions", p
        ),
        n=len(read),
        method="hypergeometric sum",
        p=p,
        least_p=min(_p(weights, end, rule) for end in (0, len(weights) - 1)),
        alternative=alternative,
        convention=convention,
        note=""
        if len(weights) > 1
        else "all attempts at each question ended alike: nothing to test",
    )


def _row(place: str, name: str, row: Sequence[SupportsIndex]) -> tuple[int, int, int, int]:
    counts = [whole(place, name, count) for count in listed(place, name, row)]
    rule = "successes and attempts of the treatment arm, then of the control arm"
    if len(counts) != 4:
        refuse(place, name, counts, rule)
    passed, tried, passed_control, tried_control = counts
    if passed > tried or passed_control > tried_control or not tried or not tried_control:
        refuse(place, name, counts, f"{rule}; attempts at least 1 and as many as successes")
    return passed, tried, passed_control, tried_control


def _distribution(place: str, strata: Sequence[tuple[int, int, int, int]]) -> tuple[int, list[int]]:
    """Return where the observed sum stands, and the weight of each possible sum."""
    weights, observed, steps = [1], 0, 0
    for passed, tried, passed_control, tried_control in strata:
        total = passed + passed_control
        shares = range(max(0, total - tried_control), min(tried, total) + 1)
        steps += len(weights) * len(shares)
        if steps > _MOST_STEPS:
            refuse(place, "strata", f"{len(strata)} questions", "fewer attempts in all")
        ways = [math.comb(tried, x) * math.comb(tried_control, total - x) for x in shares]
        observed += passed - shares[0]
        weights = _convolved(weights, ways)
    return observed, weights


def _convolved(one: Sequence[int], other: Sequence[int]) -> list[int]:
    product = [0] * (len(one) + len(other) - 1)
    for i, left in enumerate(one):
        for j, right in enumerate(other):
            product[i + j] += left * right
    return product


def _p(weights: Sequence[int], at: int, rule: str) -> Fraction:
    below, above = sum(weights[: at + 1]), sum(weights[at:])
    masses = {"less": below, "greater": above, "doubling": 2 * min(below, above)}
    likely = sum(weight for weight in weights if weight <= weights[at])
    return min(Fraction(1), Fraction(masses.get(rule, likely), sum(weights)))
