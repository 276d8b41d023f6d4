"""What all pairs of a run share, and the order of a pair's arms."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass
from pathlib import Path

from benchlib.contracts.attempt import ArmName
from benchlib.contracts.boundaries import Adapter, Sandbox
from benchlib.contracts.cohort import PlannedPair, Provisioner
from benchlib.contracts.plan import OpenPlan
from benchlib.gateway import Answer
from benchlib.run.journal import Clock, Journal
from benchlib.run.preparation import Prepared
from benchlib.run.receipts import ReceiptFolder

ARMS: tuple[ArmName, ArmName] = ("control", "treatment")


@dataclass(frozen=True)
class Runner:
    """What all pairs of a run share."""

    plan: OpenPlan
    sandbox: Sandbox
    adapter: Adapter
    answer: Answer | None
    provisioner: Provisioner
    journal: Journal
    receipts: ReceiptFolder
    work: Path  # short path; memories live here until they are destroyed
    stopping: threading.Event
    clock: Clock


@dataclass(frozen=True)
class Attempt:
    """One go at a pair."""

    pair: PlannedPair
    id: str
    prepared: Prepared

    def condition(self, arm: ArmName) -> str:
        """Return the id of the condition of an arm."""
        return self.pair.control if arm == "control" else self.pair.treatment


def arm_order(seed: int) -> tuple[ArmName, ArmName]:
    """Return the order of the arms that a pair's seed gives; half of all seeds each way.

    Example:
        >>> arm_order(1) in {("control", "treatment"), ("treatment", "control")}
        True
    """
    first_is_control = hashlib.sha256(str(seed).encode()).digest()[0] % 2 == 0
    return ARMS if first_is_control else (ARMS[1], ARMS[0])
