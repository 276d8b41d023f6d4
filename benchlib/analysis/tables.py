"""The cohort's tables: one function each, from receipts to a frame with declared columns.

Every number is exact: counts, fractions, and decimals that were rounded to the
safe side. Pairs are compared as pairs; a difference of two independent intervals
is offered nowhere. Repeated attempts at one question are clusters: over several
questions the test flips whole questions. With fewer than five units there is no
p, only the code ``exploratory``.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction

import pandas as pd

from benchlib import stats
from benchlib.analysis.claims import ClaimLine, claim_lines
from benchlib.analysis.declarations import Column, Output
from benchlib.analysis.frames import ARMS, Receipts

ALL = "(all)"
"""Stands in a challenge column for all challenges; no challenge can be called so."""

LEAST_UNITS = 5
"""Fewer pairs or questions than this get no test."""

PLACES = 4
"""Digits behind the point of rates and p values."""

OUTCOMES = ("gained", "lost", "both-passed", "both-failed")


def _columns(*declared: str) -> tuple[Column, ...]:
    """Read columns from ``name: type``, a ``?`` behind the type for nullable, a unit behind it."""
    columns = []
    for text in declared:
        name, _, rest = text.partition(": ")
        kind, _, unit = rest.partition(" ")
        columns.append(
            Column(
                name=name,
                type=kind.removesuffix("?"),
                unit=unit or None,
                nullable=kind.endswith("?"),
            )
        )
    return tuple(columns)


OUTPUTS: Mapping[str, Output] = {
    output.id: output
    for output in (
        Output(
            id="attempts",
            title="What became of each pair and attempt",
            columns=_columns("comparison: text", "state: code", "count: integer"),
            order=("comparison", "state"),
        ),
        Output(
            id="pairs",
            title="Each planned pair and its outcome, or why it has none",
            columns=_columns(
                "comparison: text",
                "challenge: text",
                "pair: text",
                "attempt: text?",
                "outcome: code?",
                "reason: code?",
            ),
            order=("comparison", "challenge", "pair"),
        ),
        Output(
            id="arms",
            title="Attempts and passes of each arm, with the exact interval of the pass rate",
            columns=_columns(
                "comparison: text",
                "challenge: text",
                "arm: code",
                "condition: text",
                "attempts: integer",
                "passes: integer",
                "lower: decimal(4)? rate",
                "upper: decimal(4)? rate",
                "reason: code?",
            ),
            order=("comparison", "challenge", "arm"),
        ),
        Output(
            id="paired",
            title="Paired outcomes, with the exact test of no effect",
            columns=_columns(
                "comparison: text",
                "challenge: text",
                "pairs: integer",
                "gained: integer",
                "lost: integer",
                "both_passed: integer",
                "both_failed: integer",
                "method: code",
                "units: integer",
                "p_exact: fraction?",
                "p: decimal(4)?",
                "least_p: decimal(4)?",
                "reason: code?",
            ),
            order=("comparison", "challenge"),
        ),
        Output(
            id="summary",
            title="What may be said of each claim that was planned",
            columns=_columns(
                "endpoint: text",
                "comparison: text",
                "challenge: text",
                "question: code",
                "family: code",
                "planned: integer pairs",
                "started: integer pairs",
                "admitted: integer pairs",
                "void: integer pairs",
                "interrupted: integer pairs",
                "undecided: integer pairs",
                "gained: integer",
                "lost: integer",
                "p: decimal(4)?",
                "adjusted_p: decimal(4)?",
                "least_p: decimal(4)?",
                "at_worst: decimal(4)? risk",
                "at_best: decimal(4)? risk",
                "reading: text",
            ),
            order=("endpoint", "comparison", "challenge"),
        ),
        Output(
            id="voids",
            title="Attempts that do not count, by reason and by the arm they were lost to",
            columns=_columns(
                "comparison: text",
                "reason: code",
                "arm: code",
                "status: code",
                "attempts: integer",
            ),
            order=("comparison", "reason", "arm", "status"),
        ),
        Output(
            id="void_balance",
            title="Whether the arms lost equally many attempts; if not, that alone may bias",
            columns=_columns(
                "comparison: text",
                "started: integer attempts",
                "lost_to_control: integer attempts",
                "lost_to_treatment: integer attempts",
                "lost_to_neither: integer attempts",
                "is_balanced: boolean",
            ),
            order=("comparison",),
        ),
        Output(
            id="facts",
            title="Memory delivered, used, and the paired outcome, crossed; none implies the next",
            columns=_columns(
                "comparison: text",
                "delivered: code",
                "used: code",
                "outcome: code",
                "pairs: integer",
            ),
            order=("comparison", "delivered", "used", "outcome"),
        ),
        Output(
            id="costs",
            title="Tokens, steps and wall time of each arm",
            status="exploratory",
            columns=_columns(
                "comparison: text",
                "arm: code",
                "condition: text",
                "attempts: integer",
                "without_usage: integer attempts",
                "input_tokens: integer",
                "output_tokens: integer",
                "requests: integer",
                "mean_tokens: decimal(1)? tokens",
                "mean_steps: decimal(2)? steps",
                "mean_seconds: decimal(3)? seconds",
            ),
            order=("comparison", "arm"),
        ),
        Output(
            id="circumstances",
            title="Under which model and which isolation the arms ran",
            status="exploratory",
            columns=_columns("model: text", "model_kind: code", "isolation: code", "arms: integer"),
            order=("model", "model_kind", "isolation"),
        ),
    )
}
"""What the tables of this module look like; a plan that emits them declares them so."""


def _frame(output: str, rows: Iterable[Sequence[object]]) -> pd.DataFrame:
    """Make a frame with exactly the declared columns, of types that keep what is missing."""
    columns = OUTPUTS[output].columns
    kept = list(rows)
    return pd.DataFrame(
        {
            column.name: pd.array([row[index] for row in kept], dtype=_dtype(column))  # type: ignore[call-overload] # by name
            for index, column in enumerate(columns)
        }
    )


def _dtype(column: Column) -> str:
    exact = {"integer": "Int64", "boolean": "boolean", "text": "string", "code": "string"}
    return exact.get(column.type, "object")  # Fraction and Decimal stay what they are


def comparison(control: str, treatment: str) -> str:
    """Return the name of a comparison of two conditions, as tables show it."""
    return f"{treatment} against {control}"


def _comparison(row: Mapping[Hashable, object]) -> str:
    return comparison(str(row["control"]), str(row["treatment"]))


def comparisons(receipts: Receipts) -> list[tuple[str, str]]:
    """Return the planned comparisons as (control, treatment), sorted by their name."""
    planned = {(pair.control, pair.treatment) for pair in receipts.cohort.pairs}
    return sorted(planned, key=lambda names: comparison(*names))


def _of(frame: pd.DataFrame, names: tuple[str, str]) -> pd.DataFrame:
    return frame[(frame["control"] == names[0]) & (frame["treatment"] == names[1])]


def _by_challenge(receipts: Receipts, frame: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the rows of each challenge that was planned and has any, then all of them."""
    for challenge in sorted(receipts.cohort.challenges):
        rows = frame[frame["challenge"] == challenge]
        if len(rows):
            yield challenge, rows
    yield ALL, frame


def attempts(receipts: Receipts) -> pd.DataFrame:
    """Count what became of every planned pair and started attempt.

    Args:
        receipts: The frames.

    Returns:
        Rows by comparison and state, zeros included: nothing vanishes.
    """
    return _frame(
        "attempts", [row for names in comparisons(receipts) for row in _states(receipts, names)]
    )


def _states(receipts: Receipts, names: tuple[str, str]) -> Iterator[tuple[str, str, int]]:
    started = _of(receipts.pairs, names)
    planned = sum((pair.control, pair.treatment) == names for pair in receipts.cohort.pairs)
    counted = int(started["counts"].sum())
    statuses = [str(status) for status in started["status"]]
    states = {
        "pairs-planned": planned,
        "pairs-started": started["pair"].nunique(),
        "pairs-with-outcome": counted,
        "attempts-started": len(started),
        "attempts-counted": counted,
        "attempts-superseded": statuses.count("completed") - counted,
        "attempts-void": statuses.count("void"),
        "attempts-interrupted": statuses.count("interrupted"),
        "attempts-open": statuses.count("open"),
    }
    for state, count in states.items():
        yield comparison(*names), state, count


def pairs(receipts: Receipts) -> pd.DataFrame:
    """List every planned pair with the outcome that counts, or the reason why it has none.

    Args:
        receipts: The frames.

    Returns:
        One row per planned pair; the reason is that of its latest attempt.
    """
    latest = {str(row["pair"]): row for row in receipts.pairs.to_dict("records")}
    counted = {str(row["pair"]): row for row in receipts.counted.to_dict("records")}
    rows: list[tuple[object, ...]] = []
    for pair in receipts.cohort.pairs:
        head = (comparison(pair.control, pair.treatment), pair.challenge, pair.id)
        row = counted.get(pair.id)
        if row is not None:
            rows.append((*head, row["attempt"], row["outcome"], None))
        else:
            reason = latest[pair.id]["reason"] if pair.id in latest else "not-started"
            rows.append((*head, None, None, reason))
    return _frame("pairs", rows)


def arms(receipts: Receipts, *, alpha_ppm: int) -> pd.DataFrame:
    """Count passes per arm and challenge, with the exact (Clopper-Pearson) interval.

    Over several challenges an interval is given only if no challenge repeats; else
    the attempts are no independent ones, and the reason says ``repeated-questions``.

    Args:
        receipts: The frames.
        alpha_ppm: 1 minus the level of the interval, in parts per million.

    Returns:
        Rows by comparison, challenge and arm; ``(all)`` for all challenges.
    """
    rows = []
    for names in comparisons(receipts):
        of_pair = _of(receipts.counted_arms, names)
        for (challenge, frame), arm in itertools.product(_by_challenge(receipts, of_pair), ARMS):
            condition = names[ARMS.index(arm)]
            head = (comparison(*names), challenge, arm, condition)
            rows.append((*head, *_rate(frame[frame["arm"] == arm], alpha_ppm)))
    return _frame("arms", rows)


def _rate(
    frame: pd.DataFrame, alpha_ppm: int
) -> tuple[int, int, Decimal | None, Decimal | None, str | None]:
    tried, passes = len(frame), int(frame["reward"].sum())
    if tried == 0:
        return 0, 0, None, None, "no-attempt"
    questions = frame["challenge"].nunique()
    if 1 < questions < tried:
        return tried, passes, None, None, "repeated-questions"
    level = 1 - Fraction(alpha_ppm, 1_000_000)
    interval = stats.binomial_interval(successes=passes, attempts=tried, level=level)
    lower = stats.print_value(interval.lower, PLACES, kind="lower")
    upper = stats.print_value(interval.upper, PLACES, kind="upper")
    return tried, passes, Decimal(lower), Decimal(upper), None


def paired(receipts: Receipts) -> pd.DataFrame:
    """Count the four paired outcomes and test that memory changes none.

    Pairs at one challenge, or one pair at each: the exact McNemar test. Several pairs
    at each of several challenges: the exact cluster permutation test, for repeated
    attempts at one question are one cluster.

    Args:
        receipts: The frames.

    Returns:
        Rows by comparison and challenge; ``(all)`` for all challenges.
    """
    rows = []
    for names in comparisons(receipts):
        for challenge, frame in _by_challenge(receipts, _of(receipts.counted, names)):
            counts = [int((frame["outcome"] == outcome).sum()) for outcome in OUTCOMES]
            head = (comparison(*names), challenge, len(frame), *counts)
            rows.append((*head, *_test(frame, gained=counts[0], lost=counts[1])))
    return _frame("paired", rows)


_Test = tuple[str, int, Fraction | None, Decimal | None, Decimal | None, str | None]


def _test(frame: pd.DataFrame, *, gained: int, lost: int) -> _Test:
    questions = frame["challenge"].nunique()
    is_clustered = 1 < questions < len(frame)
    units = questions if is_clustered else len(frame)
    method = "cluster-permutation" if is_clustered else "mcnemar-exact"
    if units < LEAST_UNITS:
        return method, units, None, None, None, "exploratory" if units else "no-pair"
    if is_clustered:
        test = stats.cluster_permutation_test(_clusters(frame))
    else:
        test = stats.mcnemar_test(gained=gained, lost=lost)
    reason = None if gained + lost else "no-discordant-pairs"
    p, least_p = _printed(test.p, "p"), _printed(test.least_p, "p")
    return method, units, test.p, p, least_p, reason


def _clusters(frame: pd.DataFrame) -> list[list[int]]:
    """Return the paired differences of each question."""
    differences = frame["treatment_reward"] - frame["control_reward"]
    return [
        [int(value) for value in differences[frame["challenge"] == challenge]]
        for challenge in sorted(set(frame["challenge"]))
    ]


def summary(receipts: Receipts, *, alpha_ppm: int) -> pd.DataFrame:
    """Say of each planned claim what may be said, what may not, and why.

    Args:
        receipts: The frames.
        alpha_ppm: 1 minus the level, in parts per million.

    Returns:
        Rows by endpoint, comparison and challenge. Adjusted over the planned tests of
        the endpoint; ``at_worst`` and ``at_best`` bound the risk difference where one arm
        of a pair is missing.
    """
    return _frame("summary", [_claim(line) for line in claim_lines(receipts, alpha_ppm=alpha_ppm)])


def _claim(line: ClaimLine) -> tuple[object, ...]:
    said = line.said
    evidence = said.evidence if said else None
    worst, best = (said.difference_if_missing if said else None) or (None, None)
    return (
        line.endpoint.id,
        comparison(line.control, line.treatment),
        line.challenge or ALL,
        line.endpoint.question,
        line.endpoint.family,
        line.planned,
        len(line.rows),
        *(line.count(status) for status in ("admitted", "void", "interrupted", "started")),
        said.gained if said else 0,
        said.lost if said else 0,
        _printed(evidence.p if evidence else None, "p"),
        _printed(said.adjusted_p if said else None, "p"),
        _printed(evidence.least_p if evidence else None, "p"),
        _printed(worst, "lower"),
        _printed(best, "upper"),
        said.sentence if said else "No pair has an outcome, so nothing can be said.",
    )


def _printed(value: Fraction | float | None, kind: str) -> Decimal | None:
    """Round to the safe side; None stays None."""
    return None if value is None else Decimal(stats.print_value(value, PLACES, kind=kind))


def voids(receipts: Receipts) -> pd.DataFrame:
    """Count attempts without an outcome by reason and by the arm they were lost to.

    Args:
        receipts: The frames.

    Returns:
        Rows by comparison, reason, arm and status. Both arms of a void pair leave the
        paired table together; the arm here is the one that the machine failed.
    """
    lost = receipts.pairs[receipts.pairs["at_fault"].notna()]
    keys = [
        (_comparison(row), str(row["reason"]), str(row["at_fault"]), str(row["status"]))
        for row in lost.to_dict("records")
    ]
    return _frame("voids", [(*key, keys.count(key)) for key in sorted(set(keys))])


def void_balance(receipts: Receipts) -> pd.DataFrame:
    """Compare how many attempts each arm lost; if unequal, that alone may bias.

    Args:
        receipts: The frames.

    Returns:
        One row per comparison.
    """
    rows = []
    for names in comparisons(receipts):
        started = _of(receipts.pairs, names)
        lost = [str(arm) for arm in started["at_fault"].dropna()]
        control, treatment = (lost.count(arm) + lost.count("both") for arm in ARMS)
        rows.append(
            (
                comparison(*names),
                len(started),
                control,
                treatment,
                lost.count("pair"),
                control == treatment,
            )
        )
    return _frame("void_balance", rows)


def facts(receipts: Receipts) -> pd.DataFrame:
    """Cross the three facts of the treatment arm: delivered, used, changed.

    Args:
        receipts: The frames.

    Returns:
        Rows for each combination that occurs. A fact that nobody could tell is ``unknown``.
    """
    treated = receipts.counted_arms
    by_pair = {row["pair"]: row for row in treated.to_dict("records") if row["arm"] == "treatment"}
    keys = []
    for row in receipts.counted.to_dict("records"):
        arm = by_pair[row["pair"]]
        told = (_word(arm["delivered"]), _word(arm["used"]), str(row["outcome"]))
        keys.append((_comparison(row), *told))
    return _frame("facts", [(*key, keys.count(key)) for key in sorted(set(keys))])


def _word(value: object) -> str:
    return "unknown" if value is pd.NA else ("yes" if value else "no")


def circumstances(receipts: Receipts) -> pd.DataFrame:
    """Count the arms by model and isolation; differs between machines, so not promised.

    Args:
        receipts: The frames.

    Returns:
        Rows for each combination that occurs, over all started arms.
    """
    keys = [
        (str(row["model"]), str(row["model_kind"]), _known(row["isolation"]))
        for row in receipts.arms.to_dict("records")
    ]
    return _frame("circumstances", [(*key, keys.count(key)) for key in sorted(set(keys))])


def _known(value: object) -> str:
    return "unknown" if value is pd.NA else str(value)


def costs(receipts: Receipts) -> pd.DataFrame:
    """Sum tokens and average steps and seconds per arm; exploratory, for wall time differs.

    Args:
        receipts: The frames.

    Returns:
        Rows by comparison and arm, of the attempts that count.
    """
    rows = []
    for names in comparisons(receipts):
        frame = _of(receipts.counted_arms, names)
        for arm in ARMS:
            own = frame[frame["arm"] == arm]
            head = (comparison(*names), arm, names[ARMS.index(arm)], len(own))
            rows.append((*head, *_spent(own)))
    return _frame("costs", rows)


def _spent(frame: pd.DataFrame) -> tuple[object, ...]:
    metered = frame[frame["requests"].notna()]
    kinds = ("input_tokens", "cache_read_tokens", "cache_write_tokens")
    taken_in = sum(int(metered[kind].sum()) for kind in kinds)
    given_out = int(metered["output_tokens"].sum())
    steps = frame["steps"].dropna()
    return (
        len(frame) - len(metered),
        taken_in,
        given_out,
        int(metered["requests"].sum()),
        _mean(taken_in + given_out, len(metered)),
        _mean(int(steps.sum()), len(steps)),
        _mean(int(frame["milliseconds"].sum()), 1000 * len(frame)),
    )


def _mean(total: int, count: int) -> Fraction | None:
    return Fraction(total, count) if count else None
