"""The lock of a cohort, and the opened plan: proof that nothing moved since it was frozen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import StringConstraints

from benchlib.contracts.base import (
    Contract,
    Count,
    GitCommit,
    Identifier,
    Ordinal,
    Sha256,
    Version1,
)
from benchlib.contracts.challenge import Challenge
from benchlib.contracts.cohort import Cohort, Condition
from benchlib.contracts.fixture import Fixture
from benchlib.contracts.paths import PortablePath
from benchlib.contracts.policy import ScriptedPolicy


class PinnedFile(Contract):
    """A file of the cohort, by digest."""

    path: PortablePath
    sha256: Sha256
    bytes: Count


class ProofRun(Contract):
    """One run of a verifier while it was proved."""

    workspace: Literal["untouched", "reference-solution", "empty"]
    status: Literal["passed", "failed", "no-verdict"]
    reason: Annotated[str, StringConstraints(max_length=4200)]


class VerifierProof(Contract):
    """That a verifier tells right from wrong; void as soon as a byte of it changes."""

    challenge: Identifier
    challenge_sha256: Sha256
    verifier_sha256: Sha256
    workspace_sha256: Sha256  # the sealed tree that it was proved on
    reference_solution_sha256: Sha256
    runs: tuple[ProofRun, ...]
    sandbox: Literal["docker", "local"]


class PinnedTree(Contract):
    """The workspace that a challenge starts from."""

    challenge: Identifier
    fixture: Identifier
    commit: GitCommit
    sealed_sha256: Sha256


class PlanLock(Contract):
    """Everything that was pinned. Its own digest is the cohort version's identity."""

    schema_version: Version1 = 1
    cohort: Identifier
    version: Ordinal
    cohort_sha256: Sha256
    plan_sha256: Sha256  # of the frozen notebook
    files: tuple[PinnedFile, ...]  # by path, all below the cohort's `inputs`
    trees: tuple[PinnedTree, ...]
    proofs: tuple[VerifierProof, ...]


@dataclass(frozen=True)
class OpenPlan:
    """A cohort, checked against its lock and ready to run; made only by `records.open_plan`."""

    root: Path  # the cohort's folder
    cohort: Cohort
    lock: PlanLock
    challenges: Mapping[str, Challenge]
    fixtures: Mapping[str, Fixture]
    policy: ScriptedPolicy | None

    def condition(self, name: str) -> Condition:
        """Return the condition of that id."""
        return self.cohort.condition(name)
