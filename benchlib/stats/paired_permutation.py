"""Is the mean of paired differences zero, given arms assigned at random?"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from benchlib.stats._flips import flip_p, least_flip_p
from benchlib.stats._numbers import Number, choice, measured
from benchlib.stats._words import ALTERNATIVES, p_sentence
from benchlib.stats.printing import print_value
from benchlib.stats.result import ExactTest


def paired_permutation_test(
    diffs: Iterable[Number], *, alternative: str = "two-sided"
) -> ExactTest:
    """Test that memory changes no difference, over all exchanges of the arms in pairs.

    Exact whatever the shape of the differences, given that the arms were assigned at
    random within the pair. The statistic is the sum; a pattern that equals it counts.

    Args:
        diffs: Differences of pairs, treatment minus control, one or more.
        alternative: ``two-sided``, ``greater`` (treatment larger) or ``less``.

    Returns:
        The test; ``estimate`` is the mean difference.

    Raises:
        InputError: No difference, one that is no finite number, an unknown word, or
            values of too many digits for more than 44 pairs.

    Source:
        Fisher (1935), The Design of Experiments; Pitman (1937), JRSS Suppl. 4, 119-130.

    Example:
        >>> test = paired_permutation_test([3, -1, 2, 5, 0, 4])
        >>> str(test.estimate), str(test.p)
        ('13/6', '1/8')
    """
    place = "paired_permutation_test"
    read = measured(place, "diffs", diffs)
    choice(place, "alternative", alternative, ALTERNATIVES)
    estimate = sum(read, Fraction(0)) / len(read)
    p = flip_p(place, "diffs", read, alternative)
    return ExactTest(
        procedure=place,
        inputs=(("diffs", read), ("alternative", alternative)),
        reading=p_sentence(f"mean difference {print_value(estimate)} over {len(read)} pairs", p),
        n=len(read),
        method="all sign patterns",
        estimate=estimate,
        p=p,
        least_p=least_flip_p(read, alternative),
        alternative=alternative,
        convention="doubling",
        note="" if any(read) else "all differences are zero: nothing to test",
    )
