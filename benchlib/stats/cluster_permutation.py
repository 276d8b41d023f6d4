"""Repeated attempts at one question: the question is the unit, and its sign flips whole.

Attempts at one question share its difficulty; counting 8 questions of 5 attempts as 40
invents evidence. The claim is about questions like these. For a claim about these very
questions there is ``stratified_exact_test``; the plan says which claim is made.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from benchlib.stats._flips import flip_p, least_flip_p
from benchlib.stats._numbers import Number, choice, listed, measured
from benchlib.stats._words import ALTERNATIVES, p_sentence
from benchlib.stats.printing import print_value
from benchlib.stats.result import ExactTest

WEIGHTS = ("mean", "total")


def cluster_permutation_test(
    clusters: Iterable[Iterable[Number]],
    *,
    alternative: str = "two-sided",
    weight: str = "mean",
) -> ExactTest:
    """Test paired differences whose arms were assigned at random, by whole questions.

    If memory changes nothing, exchanging the arms of a question changes the sign of all
    its differences at once, and all 2^questions patterns are alike. The statistic is the
    sum of the questions' means, or of their sums; a pattern that equals it counts.

    Args:
        clusters: For each question, its paired differences (treatment minus control).
        alternative: ``two-sided``, ``greater`` (treatment larger) or ``less``.
        weight: ``mean`` lets all questions weigh alike; ``total`` all attempts.

    Returns:
        The test; ``estimate`` is the mean of the questions' means, or the total per
        attempt; ``least_p`` the least that this number of questions can give.

    Raises:
        InputError: No question, a question without a difference, a value that is no
            number, an unknown word, or values of too many digits for too many questions.

    Source:
        Fisher (1935), The Design of Experiments; Pitman (1937), JRSS Suppl. 4, 119-130.

    Example:
        >>> test = cluster_permutation_test([[1, 1, 0], [1, 0, 0], [1, 1, 1]])
        >>> test.estimate, test.p
        (Fraction(2, 3), Fraction(1, 4))
    """
    place = "cluster_permutation_test"
    choice(place, "alternative", alternative, ALTERNATIVES)
    choice(place, "weight", weight, WEIGHTS)
    read = tuple(
        measured(place, f"clusters[{at}]", cluster)
        for at, cluster in enumerate(listed(place, "clusters", clusters, least=1))
    )
    sums = [sum(cluster, Fraction(0)) for cluster in read]
    sizes = [len(cluster) for cluster in read]
    terms = sums if weight == "total" else [s / k for s, k in zip(sums, sizes, strict=True)]
    estimate = sum(terms, Fraction(0)) / (sum(sizes) if weight == "total" else len(read))
    p = flip_p(place, "clusters", terms, alternative)
    return ExactTest(
        procedure=place,
        inputs=(("clusters", read), ("alternative", alternative), ("weight", weight)),
        reading=p_sentence(
            f"mean difference {print_value(estimate)} over {len(read)} questions", p
        ),
        n=len(read),
        method=weight,
        estimate=estimate,
        p=p,
        least_p=least_flip_p(terms, alternative),
        alternative=alternative,
        convention="doubling",
        note="one question can't be significant" if len(read) == 1 else "",
    )
