"""What a summary is made from: the pairs, and the part of the frozen plan that it needs.

Rows and plan are read once, strictly; whatever was not planned or not decided is refused by
name, and nothing is said. Values leave here as fractions.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from benchlib.stats._evidence import MEASURE_FAMILIES, OUTCOME_FAMILIES
from benchlib.stats._numbers import (
    Number,
    choice,
    inside,
    listed,
    probability,
    rational,
    refuse,
    whole,
)

STATUSES = ("admitted", "void", "excluded", "interrupted", "started")
ARMS = ("control", "treatment", "both", "")
KINDS = ("outcome", "measure")
QUESTIONS = ("difference", "equivalence", "noninferiority")
CLAIMS = ("questions-like-these", "these-questions")
PLACE = "summarize"


@dataclass(frozen=True, kw_only=True)
class PairRow:
    """One started pair at one endpoint."""

    pair: str
    key: str  # comparability key, as text
    endpoint: str
    cluster: str  # the question
    status: str  # one of STATUSES
    control: Number | None = None  # outcome 0 or 1, or a measure; None if missing
    treatment: Number | None = None
    reason: str = ""  # reason code; needed for void, excluded and interrupted pairs
    arm: str = ""  # the arm that it was lost to, "both", or "" for the pair as such


@dataclass(frozen=True, kw_only=True)
class PlannedEndpoint:
    """What the frozen plan says of one endpoint."""

    name: str
    kind: str  # "outcome" (0 or 1) or "measure"
    family: str  # see OUTCOME_FAMILIES and MEASURE_FAMILIES
    question: str = "difference"
    margin: Number | None = None  # for equivalence and noninferiority
    claim: str = "questions-like-these"
    looks: tuple[int, ...] = ()  # discordant counts; needs the conditional family
    spend: tuple[Number, ...] = ()  # share of alpha by each look


@dataclass(frozen=True, kw_only=True)
class SummaryPlan:
    """The part of a frozen plan that a summary needs."""

    keys: tuple[tuple[str, int], ...]  # comparability key and pairs planned at it
    endpoints: tuple[PlannedEndpoint, ...]
    level: Number = "0.95"


def planned_keys(plan: SummaryPlan) -> dict[str, int]:
    """Return the pairs planned at each key.

    Raises:
        InputError: There is no key, one stands twice, or a count is no count.
    """
    keys = listed(PLACE, "plan.keys", plan.keys, least=1)
    counts = {
        key: whole(PLACE, f"plan.keys[{at}]", count, least=1)
        for at, (key, count) in enumerate(keys)
    }
    if len(counts) != len(keys):
        refuse(PLACE, "plan.keys", [key for key, _ in keys], "each key once")
    return counts


def planned_endpoints(plan: SummaryPlan) -> dict[str, PlannedEndpoint]:
    """Return the endpoints of the plan by name, with their numbers read.

    Raises:
        InputError: There is none, one stands twice, or family, margin or looks do not fit.
    """
    endpoints = listed(PLACE, "plan.endpoints", plan.endpoints, least=1)
    if len({endpoint.name for endpoint in endpoints}) != len(endpoints):
        refuse(PLACE, "plan.endpoints", [e.name for e in endpoints], "each endpoint once")
    return {e.name: _endpoint(f"plan.endpoints[{at}]", e) for at, e in enumerate(endpoints)}


def _endpoint(name: str, endpoint: PlannedEndpoint) -> PlannedEndpoint:
    choice(PLACE, f"{name}.kind", endpoint.kind, KINDS)
    choice(PLACE, f"{name}.question", endpoint.question, QUESTIONS)
    choice(PLACE, f"{name}.claim", endpoint.claim, CLAIMS)
    is_outcome = endpoint.kind == "outcome"
    families = OUTCOME_FAMILIES if is_outcome else MEASURE_FAMILIES
    choice(PLACE, f"{name}.family", endpoint.family, tuple(families))
    margin = endpoint.margin
    if endpoint.question != "difference":
        if not is_outcome or endpoint.family != "unconditional":
            refuse(PLACE, f"{name}.family", endpoint.family, "unconditional, with a margin")
        if margin is None:
            refuse(PLACE, f"{name}.margin", margin, "the margin of the frozen plan")
        margin = inside(PLACE, f"{name}.margin", margin)
    if endpoint.looks and endpoint.family != "conditional":
        refuse(PLACE, f"{name}.looks", endpoint.looks, "looks with the conditional family")
    spend = tuple(
        probability(PLACE, f"{name}.spend[{at}]", s) for at, s in enumerate(endpoint.spend)
    )
    return dataclasses.replace(endpoint, margin=margin, spend=spend)


def _checked(
    at: int, row: PairRow, planned: dict[str, int], endpoints: dict[str, PlannedEndpoint]
) -> PairRow:
    """Return the row with its values read; rules 1 and 2."""
    name = f"pairs[{at}]"
    choice(PLACE, f"{name}.status", row.status, STATUSES)
    choice(PLACE, f"{name}.arm", row.arm, ARMS)
    choice(PLACE, f"{name}.key", row.key, tuple(planned))
    choice(PLACE, f"{name}.endpoint", row.endpoint, tuple(endpoints))
    if row.status in {"void", "excluded", "interrupted"} and not row.reason:
        refuse(
            PLACE, f"{name}.reason", row.reason, f"a reason code for a pair that is {row.status}"
        )
    is_outcome = endpoints[row.endpoint].kind == "outcome"
    read = dataclasses.replace(
        row,
        control=_value(f"{name}.control", row.control, is_outcome=is_outcome),
        treatment=_value(f"{name}.treatment", row.treatment, is_outcome=is_outcome),
    )
    has_control, has_treatment = read.control is not None, read.treatment is not None
    if row.status == "started" and has_control and has_treatment:
        refuse(
            PLACE,
            f"{name}.status",
            row.status,
            "an admission decision for a pair that has ended",
            "admit or exclude it first; completed is not admitted",
        )
    if row.status == "admitted" and not (has_control or has_treatment):
        refuse(PLACE, f"{name}.control", None, "paired arms: an admitted pair has values")
    return read


def _value(name: str, value: Number | None, *, is_outcome: bool) -> Fraction | None:
    if value is None:
        return None
    # For an outcome true and false are 1 and 0; a measure is no truth value.
    read = rational(PLACE, name, int(value) if is_outcome and isinstance(value, bool) else value)
    if is_outcome and read not in {0, 1}:
        refuse(PLACE, name, value, "an outcome, 0 or 1")
    return read


def read_rows(
    pairs: Iterable[PairRow], planned: dict[str, int], endpoints: dict[str, PlannedEndpoint]
) -> list[PairRow]:
    """Return the rows with their values read.

    Raises:
        InputError: A row was not planned, not decided, or stands twice or under two keys.
    """
    rows = [
        _checked(at, row, planned, endpoints)
        for at, row in enumerate(listed(PLACE, "pairs", pairs, least=1))
    ]
    _require_one_key_each(rows)
    return rows


def _require_one_key_each(rows: Sequence[PairRow]) -> None:
    keys: dict[str, str] = {}
    seen = set[tuple[str, str]]()
    for at, row in enumerate(rows):
        if keys.setdefault(row.pair, row.key) != row.key:
            found = f"{row.pair} under {keys[row.pair]} and {row.key}"
            refuse(PLACE, f"pairs[{at}].key", found, "one comparability key for each pair")
        if (row.pair, row.endpoint) in seen:
            refuse(PLACE, f"pairs[{at}].pair", row.pair, "each pair once for each endpoint")
        seen.add((row.pair, row.endpoint))
