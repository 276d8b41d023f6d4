"""The lines of the append-only journal, written before each step that costs something."""

from __future__ import annotations

from typing import Literal

from benchlib.contracts.attempt import ArmName, AttemptId, Shown
from benchlib.contracts.base import (
    Contract,
    Count,
    Identifier,
    Ordinal,
    ReasonCode,
    Sha256,
    UtcTime,
)
from benchlib.contracts.provisioner import Project, RunIdentity

Event = Literal[
    "run-started",
    "attempt-started",
    "restore-started",
    "restored",
    "arm-started",
    "arm-finished",
    "destroy-started",
    "destroyed",
    "attempt-finished",
    "attempt-interrupted",
    "leftovers-removed",
    "run-finished",
]


class JournalLine(Contract):
    """One event. What does not apply is null."""

    n: Ordinal
    at: UtcTime
    event: Event
    pair: Identifier | None = None
    attempt: AttemptId | None = None
    arm: ArmName | None = None
    run_identity: RunIdentity | None = None  # of a restore, so that a crash can be cleaned up
    project: Project | None = None
    reason: ReasonCode | None = None
    detail: Shown = ""
    sha256: Sha256 | None = None  # of the receipt that was written
    cost_micro_usd: Count | None = None  # None: unknown
