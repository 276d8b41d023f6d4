"""What is frozen: strict models, canonical JSON, digests. No I/O but parse and print.

Decisions: pydantic models over dataclasses, for one reader can then report all
findings of a file with their field paths. RFC 8785 by the `rfc8785` package.
Trees are plain tuples, for they hold a hundred thousand entries; their digest is
the contract. Inner shapes of one artifact live in that artifact's module.
"""

from __future__ import annotations

from collections.abc import Mapping

from benchlib.contracts.attempt import ArmReceipt, MutationReport, VerdictFile
from benchlib.contracts.base import Contract
from benchlib.contracts.certification import Certification
from benchlib.contracts.challenge import Challenge
from benchlib.contracts.cohort import Cohort, Condition
from benchlib.contracts.fixture import Fixture
from benchlib.contracts.journal import JournalLine
from benchlib.contracts.pair import PairReceipt, Preparation
from benchlib.contracts.plan import PlanLock
from benchlib.contracts.policy import ScriptedPolicy
from benchlib.contracts.provisioner import (
    DestroyResponse,
    ProjectRequest,
    RestoreRequest,
    RestoreResponse,
    SnapshotResponse,
)
from benchlib.contracts.redaction import RedactionReceipt
from benchlib.contracts.trajectory import Trajectory
from benchlib.contracts.tree import PreparedTree
from benchlib.contracts.usage import PriceTable

CONTRACTS: Mapping[str, type[Contract]] = {
    "arm-receipt": ArmReceipt,
    "certification": Certification,
    "challenge": Challenge,
    "cohort": Cohort,
    "condition": Condition,
    "fixture": Fixture,
    "journal-line": JournalLine,
    "mutation-report": MutationReport,
    "pair-receipt": PairReceipt,
    "plan-lock": PlanLock,
    "prepared-tree": PreparedTree,
    "preparation": Preparation,
    "price-table": PriceTable,
    "provisioner-destroy-response": DestroyResponse,
    "provisioner-project-request": ProjectRequest,
    "provisioner-restore-request": RestoreRequest,
    "provisioner-restore-response": RestoreResponse,
    "provisioner-snapshot-response": SnapshotResponse,
    "redaction-receipt": RedactionReceipt,
    "scripted-policy": ScriptedPolicy,
    "trajectory": Trajectory,
    "verdict": VerdictFile,
}
"""Every contract that lies on disk or crosses a boundary, by the name `benchlib schema` knows."""

__all__ = [
    "CONTRACTS",
    "ArmReceipt",
    "Certification",
    "Challenge",
    "Cohort",
    "Condition",
    "Contract",
    "DestroyResponse",
    "Fixture",
    "JournalLine",
    "MutationReport",
    "PairReceipt",
    "PlanLock",
    "Preparation",
    "PreparedTree",
    "PriceTable",
    "ProjectRequest",
    "RedactionReceipt",
    "RestoreRequest",
    "RestoreResponse",
    "ScriptedPolicy",
    "SnapshotResponse",
    "Trajectory",
    "VerdictFile",
]
