"""What may be said of each claim that a cohort planned: receipts in, lines of a summary out.

The latest valid attempt at a pair is the admitted one. Any other started pair is
counted with its reason, and an arm of it that was measured bounds the difference.
A line belongs to one comparison, and to one challenge or, over several, to claims
in which each challenge is a cluster or a stratum: no two comparability keys meet in
one test but as questions. The planned tests of one endpoint are one family: each
counts in the adjustment, run or not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import pandas as pd

from benchlib import stats
from benchlib.analysis.frames import ARMS, Receipts
from benchlib.contracts.cohort import PlannedEndpoint, PlannedPair

_STATUSES = {"void": "void", "interrupted": "interrupted", "open": "started"}
"""What a summary calls a pair whose latest attempt has no outcome."""


@dataclass(frozen=True, kw_only=True)
class ClaimLine:
    """One planned claim about one comparison, and about one challenge or all of its own."""

    endpoint: PlannedEndpoint
    control: str
    treatment: str
    challenge: str | None  # None: all of the endpoint's
    planned: int  # pairs
    rows: tuple[stats.PairRow, ...]  # started pairs
    said: stats.SummaryLine | None  # None: no pair has an outcome

    def count(self, status: str) -> int:
        """Count the started pairs of one status of ``stats.PairRow``."""
        return sum(row.status == status for row in self.rows)


def claim_lines(receipts: Receipts, *, alpha_ppm: int) -> list[ClaimLine]:
    """Say what may be said of each planned claim.

    Args:
        receipts: The frames.
        alpha_ppm: 1 minus the level, in parts per million.

    Returns:
        The lines of every endpoint in its order: comparisons and challenges as planned.
    """
    return [
        line
        for endpoint in receipts.cohort.analysis.endpoints
        for line in _of_endpoint(receipts, endpoint, alpha_ppm)
    ]


def _of_endpoint(
    receipts: Receipts, endpoint: PlannedEndpoint, alpha_ppm: int
) -> Iterator[ClaimLine]:
    planned: dict[tuple[str, str, str | None], list[PlannedPair]] = {}
    for pair in receipts.cohort.pairs:
        if pair.challenge in endpoint.challenges:
            about = pair.challenge if endpoint.lines == "per-challenge" else None
            planned.setdefault((pair.control, pair.treatment, about), []).append(pair)
    rows = _rows(receipts, endpoint, planned)
    said = _said(endpoint, {key: len(pairs) for key, pairs in planned.items()}, rows, alpha_ppm)
    for key, pairs in planned.items():
        yield ClaimLine(
            endpoint=endpoint,
            control=key[0],
            treatment=key[1],
            challenge=key[2],
            planned=len(pairs),
            rows=tuple(rows[key]),
            said=said.get(_text(key)),
        )


_Key = tuple[str, str, str | None]


def _text(key: _Key) -> str:
    """Return the key of a line as the text by which a summary knows it."""
    return "\n".join(part or "" for part in key)


def _rows(
    receipts: Receipts, endpoint: PlannedEndpoint, planned: Mapping[_Key, Sequence[PlannedPair]]
) -> dict[_Key, list[stats.PairRow]]:
    latest = {str(row["pair"]): row for row in receipts.pairs.to_dict("records")}
    latest |= {str(row["pair"]): row for row in receipts.counted.to_dict("records")}
    measured = {
        (str(row["pair"]), str(row["attempt"]), str(row["arm"])): row["reward"]
        for row in receipts.arms.to_dict("records")
    }
    return {
        key: [
            _row(latest[pair.id], measured, key=_text(key), endpoint=endpoint.id)
            for pair in pairs
            if pair.id in latest
        ]
        for key, pairs in planned.items()
    }


def _row(
    latest: Mapping[Hashable, object],
    measured: Mapping[tuple[str, str, str], object],
    *,
    key: str,
    endpoint: str,
) -> stats.PairRow:
    pair, attempt = str(latest["pair"]), str(latest["attempt"])
    status = "admitted" if latest["counts"] else _STATUSES[str(latest["status"])]
    if status == "admitted":
        values = [_reward(latest[f"{arm}_reward"]) for arm in ARMS]
    elif status == "started":
        values = [None, None]  # nobody has judged it yet
    else:
        values = [_reward(measured.get((pair, attempt, arm))) for arm in ARMS]
    at_fault = str(latest["at_fault"])
    return stats.PairRow(
        pair=pair,
        key=key,
        endpoint=endpoint,
        cluster=str(latest["challenge"]),
        status=status,
        control=values[0],
        treatment=values[1],
        reason="" if status == "admitted" else str(latest["reason"]),
        arm=at_fault if at_fault in {*ARMS, "both"} else "",
    )


def _reward(value: object) -> int | None:
    return None if value is None or value is pd.NA else int(str(value))


def _said(
    endpoint: PlannedEndpoint,
    planned: Mapping[_Key, int],
    rows: Mapping[_Key, Sequence[stats.PairRow]],
    alpha_ppm: int,
) -> dict[str, stats.SummaryLine]:
    """Summarise the lines that have a measured pair; the others count in the adjustment."""
    told = [row for of_line in rows.values() if _is_measured(of_line) for row in of_line]
    if not told:
        return {}
    is_about_these = endpoint.lines == "per-challenge" or endpoint.family == "strata"
    plan = stats.SummaryPlan(
        keys=tuple((_text(key), count) for key, count in planned.items()),
        endpoints=(
            stats.PlannedEndpoint(
                name=endpoint.id,
                kind="outcome",
                family=endpoint.family,
                question=endpoint.question,
                margin=_ppm(endpoint.margin_ppm) if endpoint.margin_ppm else None,
                claim="these-questions" if is_about_these else "questions-like-these",
            ),
        ),
        level=1 - _ppm(alpha_ppm),
    )
    return {line.key: line for line in stats.summarize(told, plan=plan).lines}


def _is_measured(rows: Sequence[stats.PairRow]) -> bool:
    return Counter(row.status for row in rows)["admitted"] > 0


def _ppm(parts: int) -> Fraction:
    return Fraction(parts, 1_000_000)
