"""The words of a summary: what may be said is decided by p, alpha and the question asked.

"Not shown to differ" is never worded as "no difference", and equivalence is said only of
its own test.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from benchlib.stats._evidence import Evidence
from benchlib.stats._numbers import rational
from benchlib.stats._words import percent
from benchlib.stats.printing import print_value

NO_DISCORDANT = "no discordant pairs"
"""A line says this with a bound, so that a test's own note need not."""

_SHOWN = {
    "equivalence": "equivalent within the planned margin",
    "noninferiority": "loses less than the planned margin",
}


def verdict(
    evidence: Evidence, *, question: str, adjusted_p: Fraction, level: Fraction
) -> Iterator[str]:
    """Yield the parts of a line's sentence that rest on its test.

    Args:
        evidence: With a p.
        question: ``difference``, ``equivalence`` or ``noninferiority``.
        adjusted_p: For all planned tests; it decides.
        level: Of the plan.
    """
    is_shown = adjusted_p <= 1 - level
    if question == "difference":
        words = f"differs, {_direction(evidence)}" if is_shown else "not shown to differ"
    else:
        words = _SHOWN[question] if is_shown else f"not shown to be so: {_SHOWN[question]}"
    yield f"{words}: {_p(evidence, adjusted_p, level)}"
    if evidence.estimate is not None:
        yield _estimate(evidence)
    if evidence.note and not evidence.note.startswith(NO_DISCORDANT):
        yield evidence.note


def _direction(evidence: Evidence) -> str:
    neutral = 1 if evidence.estimates.startswith("odds") else 0
    is_higher = evidence.estimate is not None and evidence.estimate > neutral
    return f"the treatment arm {'higher' if is_higher else 'lower'}"


def _p(evidence: Evidence, adjusted_p: Fraction, level: Fraction) -> str:
    p = evidence.p or 0
    parts = [f"p = {print_value(p, kind='p')}"]
    if rational("summarize", "p", p) != adjusted_p:
        parts.append(f"adjusted {print_value(adjusted_p, kind='p')}")
    if evidence.least_p is not None:
        parts.append(f"least attainable {print_value(evidence.least_p, kind='p')}")
        if evidence.least_p > 1 - level:
            parts.append("unable to reject at this size")
    return ", ".join(parts)


def _estimate(evidence: Evidence) -> str:
    text = f"{evidence.estimates} {print_value(evidence.estimate or 0)}"
    if evidence.lower is None or evidence.upper is None or evidence.level is None:
        return text
    low = print_value(evidence.lower, kind="lower")
    high = print_value(evidence.upper, kind="upper")
    return f"{text}, {percent(evidence.level)} interval {low} to {high}"
