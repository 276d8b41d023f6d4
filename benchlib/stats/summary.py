"""What may be said of a cohort, and what may not: one line per comparability key and endpoint.

Rules (the numbers return at the code):

1. Only admitted pairs speak. All others are counted, with reason and arm.
2. Everything that is said was planned: key, endpoint, family, margin, look.
3. A pair with one arm missing is listed, and the risk difference is bounded as if the
   missing arm had failed and as if it had succeeded.
4. A question that repeats is a cluster or a stratum, never several independent pairs.
5. Below five measured units a line says *exploratory*, and carries no p.
6. Adjusted p-values count what was planned, not what was reported.
7. "Not shown to differ" is never "no difference"; equivalence comes from its own test.

Leaves to others: reading receipts, and writing anything.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from benchlib.stats import _evidence
from benchlib.stats._numbers import choice, confidence, refuse
from benchlib.stats._summary_words import NO_DISCORDANT, verdict
from benchlib.stats.binomial_interval import binomial_interval
from benchlib.stats.holm import holm
from benchlib.stats.printing import print_value
from benchlib.stats.result import Limit, canonical_json
from benchlib.stats.summary_rows import (
    PLACE,
    PairRow,
    PlannedEndpoint,
    SummaryPlan,
    planned_endpoints,
    planned_keys,
    read_rows,
)

LEAST_UNITS = 5
"""Fewer measured units are exploratory."""

STOPS = ("planned", "unplanned")

_EXPLORATORY = "exploratory: fewer than five measured"
_NO_TEST = "stopped at an unplanned moment: no test"


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Pairs of one line, by what became of them."""

    planned: int
    started: int  # all that began, whatever became of them
    admitted: int
    void: int
    excluded: int
    interrupted: int
    undecided: int  # began, and wait for an outcome
    reasons: tuple[tuple[str, str, str, int], ...]  # status, reason code, arm, pairs
    voids_by_arm: tuple[tuple[str, int], ...]
    missing_control: int
    missing_treatment: int


@dataclass(frozen=True, kw_only=True)
class SummaryLine:
    """What may be said of one endpoint under one comparability key."""

    key: str
    endpoint: str
    family: str
    question: str
    counts: Counts
    n: int  # admitted pairs with both arms measured
    questions: int
    gained: int
    lost: int
    concordant: int
    discordance_bound: float | None  # upper bound of the chance that arms disagree, if none did
    missing_pairs: tuple[str, ...]  # one arm missing
    difference_if_missing: tuple[Fraction, Fraction] | None  # at worst, at best for the treatment
    evidence: _evidence.Evidence | None  # None if exploratory
    adjusted_p: Fraction | None
    sentence: str


@dataclass(frozen=True, kw_only=True)
class Summary:
    """All lines of a cohort, and the planned ones that did not begin."""

    level: Fraction
    family_size: int  # tests planned, which the adjustment counts
    lines: tuple[SummaryLine, ...]
    not_started: tuple[tuple[str, str], ...]

    def canonical_json(self) -> str:
        """Return the summary as text that has one form only."""
        return canonical_json(self)

    def in_words(self) -> str:
        """Return one paragraph a line."""
        lines = [f"{line.key} / {line.endpoint}: {line.sentence}" for line in self.lines]
        lines += [f"{key} / {endpoint}: not started." for key, endpoint in self.not_started]
        return "\n".join(lines)


def summarize(
    pairs: Iterable[PairRow], *, plan: SummaryPlan, stop: str = "planned", look: int | None = None
) -> Summary:
    """Say what may be said of a cohort's pairs, by its frozen plan.

    Args:
        pairs: Every started pair, once for each endpoint; not only the admitted ones.
        plan: What was planned before the money was spent.
        stop: ``unplanned`` if the cohort ended at a moment that the plan does not name:
            outcomes then get the e-value, measures no p.
        look: The planned look that this is, as its discordant count.

    Returns:
        One line for each key and endpoint that began.

    Raises:
        InputError: By name: a row or plan that breaks a rule of this module: an endpoint,
            family, margin or look that was not planned, a run that was not admitted, a
            pair that stands twice or under two keys, a repeated question taken for
            independent pairs, no measured pair at all, a level such as 95.

    Example:
        >>> plan = SummaryPlan(
        ...     keys=(("demo", 6),),
        ...     endpoints=(PlannedEndpoint(name="solved", kind="outcome", family="conditional"),),
        ... )
        >>> rows = [
        ...     PairRow(
        ...         pair=str(at), key="demo", endpoint="solved", cluster=f"q{at}",
        ...         status="admitted", control=0, treatment=1,
        ...     )
        ...     for at in range(6)
        ... ]
        >>> print(summarize(rows, plan=plan).lines[0].sentence.split("; ")[0])
        differs, the treatment arm higher: p = 0.0313, least attainable 0.0313
    """
    choice(PLACE, "stop", stop, STOPS)
    level = confidence(PLACE, plan.level)
    planned, endpoints = planned_keys(plan), planned_endpoints(plan)
    rows = read_rows(pairs, planned, endpoints)
    begun = [
        (key, name)
        for key in planned
        for name in endpoints
        if any((row.key, row.endpoint) == (key, name) for row in rows)
    ]
    lines = [
        _line(
            [row for row in rows if (row.key, row.endpoint) == at],
            endpoint=endpoints[at[1]],
            planned=planned[at[0]],
            level=level,
            stop=stop,
            look=look,
        )
        for at in begun
    ]
    size = len(planned) * len(endpoints)
    return Summary(
        level=level,
        family_size=size,
        lines=tuple(_adjusted(lines, size, level)),
        not_started=tuple(
            (key, name) for key in planned for name in endpoints if (key, name) not in begun
        ),
    )


def _line(
    rows: Sequence[PairRow],
    *,
    endpoint: PlannedEndpoint,
    planned: int,
    level: Fraction,
    stop: str,
    look: int | None,
) -> SummaryLine:
    measured = [row for row in rows if row.status == "admitted" and _is_complete(row)]
    if not measured:
        refuse(
            PLACE,
            "pairs",
            f"{len(rows)} pairs of {endpoint.name}, none admitted with both arms measured",
            "at least one (n = 0)",
            "run or admit pairs first",
        )
    data = _measured(measured, is_outcome=endpoint.kind == "outcome", level=level)
    _require_clusters(measured, endpoint)
    units = len(data.clusters) if endpoint.family in _evidence.BY_QUESTION else data.pairs
    _require_planned_look(endpoint, look, data, stop)
    evidence = None
    if units >= LEAST_UNITS:  # rule 5
        evidence = _evidence_of(data, endpoint, stop, look)
    missing = [
        row
        for row in rows
        if row.status != "excluded" and (row.control is None) != (row.treatment is None)
    ]
    is_outcome = endpoint.kind == "outcome"
    has_bound = (  # of independent pairs; a question that repeats is none
        is_outcome and data.gained + data.lost == 0 and endpoint.family not in _evidence.BY_QUESTION
    )
    return SummaryLine(
        key=rows[0].key,
        endpoint=endpoint.name,
        family=endpoint.family,
        question=endpoint.question,
        counts=_counts(rows, planned),
        n=data.pairs,
        questions=len(data.clusters),
        gained=data.gained,
        lost=data.lost,
        concordant=data.pairs - data.gained - data.lost,
        discordance_bound=_discordance_bound(data) if has_bound else None,
        missing_pairs=tuple(row.pair for row in missing),
        difference_if_missing=_bounds(data, missing) if is_outcome and missing else None,
        evidence=evidence,
        adjusted_p=None,
        sentence=_EXPLORATORY if units < LEAST_UNITS else _NO_TEST,  # completed with the p
    )


def _is_complete(row: PairRow) -> bool:
    return row.control is not None and row.treatment is not None


def _measured(rows: Sequence[PairRow], *, is_outcome: bool, level: Fraction) -> _evidence.Measured:
    by_question: dict[str, list[tuple[Fraction, Fraction]]] = {}
    for row in rows:
        values = (Fraction(row.control or 0), Fraction(row.treatment or 0))
        by_question.setdefault(row.cluster, []).append(values)
    groups = [by_question[question] for question in sorted(by_question)]
    strata = [
        (sum(int(t) for _, t in group), len(group), sum(int(c) for c, _ in group), len(group))
        for group in groups
        if is_outcome
    ]
    return _evidence.Measured(
        differences=tuple(t - c for group in groups for c, t in group),
        clusters=tuple(tuple(t - c for c, t in group) for group in groups),
        strata=tuple(strata),
        level=level,
    )


def _require_clusters(rows: Sequence[PairRow], endpoint: PlannedEndpoint) -> None:
    """Rule 4. Attempts at one single question are independent for a claim about it alone."""
    attempts = Counter(row.cluster for row in rows)
    is_about_these = endpoint.claim == "these-questions"
    allowed = ("strata",) if is_about_these else ("clusters",)
    if endpoint.family in allowed or max(attempts.values()) == 1:
        return
    if is_about_these and len(attempts) == 1 and endpoint.family not in _evidence.BY_QUESTION:
        return
    question, times = attempts.most_common(1)[0]
    refuse(
        PLACE,
        "plan.endpoints.family",
        f"{endpoint.family} for {endpoint.name}, with {times} attempts at question {question}",
        f"{allowed[0]}, for a claim about {endpoint.claim}",
        "attempts at one question are not independent pairs",
    )


def _require_planned_look(
    endpoint: PlannedEndpoint, look: int | None, data: _evidence.Measured, stop: str
) -> None:
    if stop == "unplanned":
        return
    if look is None and not endpoint.looks:
        return
    if look not in endpoint.looks:
        rule = f"a look of the plan: {', '.join(map(str, endpoint.looks)) or 'there is none'}"
        refuse(PLACE, "look", look, rule, "an unplanned stop gets the e-value")
    if data.gained + data.lost != look:
        found = f"{look}, with {data.gained + data.lost} discordant pairs"
        refuse(PLACE, "look", found, "the number of discordant pairs", "wait for the look")


def _evidence_of(
    data: _evidence.Measured, endpoint: PlannedEndpoint, stop: str, look: int | None
) -> _evidence.Evidence | None:
    is_outcome = endpoint.kind == "outcome"
    if stop == "unplanned":
        return _evidence.unplanned(data) if is_outcome and _is_plain(endpoint) else None
    if endpoint.question != "difference" and endpoint.margin is not None:
        judge = {"equivalence": _evidence.equivalence}.get(
            endpoint.question, _evidence.noninferiority
        )
        return judge(data, Fraction(endpoint.margin))
    if look is not None and endpoint.looks:
        shares = [Fraction(share) for share in endpoint.spend]
        return _evidence.at_a_look(data, endpoint.looks, shares, look)
    families = _evidence.OUTCOME_FAMILIES if is_outcome else _evidence.MEASURE_FAMILIES
    return families[endpoint.family](data)


def _is_plain(endpoint: PlannedEndpoint) -> bool:
    return endpoint.question == "difference" and endpoint.family not in _evidence.BY_QUESTION


def _discordance_bound(data: _evidence.Measured) -> float:
    bound = binomial_interval(successes=0, attempts=data.pairs, level=data.level).upper
    return float(bound)


def _bounds(data: _evidence.Measured, missing: Sequence[PairRow]) -> tuple[Fraction, Fraction]:
    """Rule 3: the risk difference at its worst and best for the treatment arm.

    At worst a missing treatment arm counts as failure and a missing control arm as
    success; at best the reverse.
    """
    lowest = sum(data.differences, Fraction(0))
    for row in missing:
        lowest += Fraction(row.treatment or 0) - Fraction(1 if row.control is None else row.control)
    # Each missing arm that fails in the one and succeeds in the other moves a pair by one.
    highest = lowest + len(missing)
    n = data.pairs + len(missing)
    return lowest / n, highest / n


def _counts(rows: Sequence[PairRow], planned: int) -> Counts:
    of = Counter(row.status for row in rows)
    reasons = Counter((row.status, row.reason, row.arm) for row in rows if row.reason)
    voids = Counter(row.arm or "pair" for row in rows if row.status == "void")
    return Counts(
        planned=planned,
        started=len(rows),
        admitted=of["admitted"],
        void=of["void"],
        excluded=of["excluded"],
        interrupted=of["interrupted"],
        undecided=of["started"],
        reasons=tuple((*key, reasons[key]) for key in sorted(reasons)),
        voids_by_arm=tuple((arm, voids[arm]) for arm in ("control", "treatment", "both", "pair")),
        missing_control=sum(row.control is None for row in rows),
        missing_treatment=sum(row.treatment is None for row in rows),
    )


def _adjusted(lines: Sequence[SummaryLine], size: int, level: Fraction) -> list[SummaryLine]:
    """Rule 6: planned tests without a p count as tests with p = 1."""
    values: list[Limit] = [
        Fraction(1) if line.evidence is None or line.evidence.p is None else line.evidence.p
        for line in lines
    ]
    adjusted = holm([*values, *[Fraction(1)] * (size - len(values))]).adjusted
    finished = []
    for line, p in zip(lines, adjusted, strict=False):
        has_p = line.evidence is not None and line.evidence.p is not None
        with_p = dataclasses.replace(line, adjusted_p=p if has_p else None)
        finished.append(dataclasses.replace(with_p, sentence=_sentence(with_p, level)))
    return finished


def _sentence(line: SummaryLine, level: Fraction) -> str:
    parts = []
    if line.discordance_bound is not None:
        bound = print_value(line.discordance_bound, kind="upper")
        parts.append(f"{NO_DISCORDANT}: at most {bound} of pairs disagree")
    if line.evidence is None:
        parts.append(line.sentence)
    elif line.adjusted_p is None:
        parts.append(line.evidence.note)
    else:
        parts += verdict(
            line.evidence, question=line.question, adjusted_p=line.adjusted_p, level=level
        )
    if line.difference_if_missing is not None:
        low, high = line.difference_if_missing
        between = f"{print_value(low, kind='lower')} and {print_value(high, kind='upper')}"
        missing = len(line.missing_pairs)
        parts.append(f"{missing} pairs with one arm missing put the difference between {between}")
    return "; ".join([*parts, f"{line.gained} gained, {line.lost} lost of {line.n} pairs"]) + "."
