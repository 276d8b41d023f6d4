"""A pair's receipt: two arms, what made them comparable, and what memory changed."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from benchlib.contracts.attempt import ArmName, AttemptId, Shown
from benchlib.contracts.base import (
    Broken,
    Contract,
    Count,
    GitCommit,
    Identifier,
    Milliseconds,
    ReasonCode,
    RelationError,
    Sha256,
    UtcTime,
    Version1,
    repeated,
)
from benchlib.contracts.certification import Certification
from benchlib.contracts.provisioner import ProvisionerCall
from benchlib.contracts.redaction import RedactionReceipt
from benchlib.contracts.tree import PreparedTree
from benchlib.errors import InWords

PairStatus = Literal["completed", "void", "interrupted"]
Outcome = Literal["gained", "lost", "both-passed", "both-failed"]


_OUTCOMES = {
    (0, 1): "gained",
    (1, 0): "lost",
    (1, 1): "both-passed",
    (0, 0): "both-failed",
}  # by the rewards of control and treatment


class ComparabilityKey(Contract):
    """What two results must share to stand on one line; the build under test is not in it."""

    challenge_sha256: Sha256
    fixture_sha256: Sha256
    model: str  # name and, for a scripted policy, its digest
    agent: str  # adapter and version
    control_sha256: Sha256  # of the condition
    treatment_sha256: Sha256
    manifest_sha256: Sha256  # of the sealed workspace
    verifier_sha256: Sha256
    source_commit: GitCommit
    limits_sha256: Sha256  # environment, time-outs, step limits


class PremiseDifference(Contract):
    """One thing that differed between the arms."""

    field: str
    control: Shown
    treatment: Shown
    explained_by: str | None  # the declared channel, or None


class PremiseReport(Contract):
    """Whether only the declared thing differed."""

    compared: tuple[str, ...]
    differences: tuple[PremiseDifference, ...]

    @property
    def holds(self) -> bool:
        """Whether every difference is explained."""
        return all(difference.explained_by for difference in self.differences)


class Change(Contract):
    """Fact three: the paired outcome."""

    outcome: Outcome
    control_reward: Annotated[int, Field(ge=0, le=1)]
    treatment_reward: Annotated[int, Field(ge=0, le=1)]

    @model_validator(mode="after")
    def _outcome_follows_from_the_rewards(self) -> Change:
        right = _OUTCOMES[self.control_reward, self.treatment_reward]
        if self.outcome != right:
            rule = f"{right}, as the rewards say"
            raise RelationError(Broken(("outcome",), self.outcome, rule))
        return self


class ArmDigest(Contract):
    """An arm's receipt, by digest."""

    arm: ArmName
    attempt: AttemptId  # its own; another than the pair's only where halves may be joined
    sha256: Sha256


class Preparation(Contract):
    """How the workspace that both arms started from came to be."""

    schema_version: Version1 = 1
    tree: PreparedTree
    redaction: RedactionReceipt
    prebuilt_sha256: Sha256 | None  # tree digest after the prebuild step, if there was one
    certification: Certification
    sealed_sha256: Sha256  # tree digest of the workspace


class PairReceipt(Contract):
    """One attempt at a pair."""

    schema_version: Version1 = 1
    cohort: Identifier
    cohort_version: Count
    lock_sha256: Sha256
    pair: Identifier
    challenge: Identifier
    fixture: Identifier
    attempt: AttemptId
    seed: Count
    order: tuple[ArmName, ArmName]
    status: PairStatus
    reason: ReasonCode | None
    detail: Shown
    key: ComparabilityKey
    build_under_test: str  # what the memory system says it is; beside the key, never in it
    started_at: UtcTime
    milliseconds: Milliseconds
    preparation_sha256: Sha256
    premise: PremiseReport | None
    change: Change | None  # None when the pair is void
    arms: tuple[ArmDigest, ...]
    destroy: tuple[ProvisionerCall, ...]

    @model_validator(mode="after")
    def _only_completed_pairs_have_an_outcome(self) -> PairReceipt:
        is_completed = self.status == "completed"
        broken = []
        if set(self.order) != {"control", "treatment"}:
            broken.append(Broken(("order",), list(self.order), "control and treatment, each once"))
        if is_completed == (self.reason is not None):
            rule = "null for a completed pair, a reason code for any other"
            broken.append(Broken(("reason",), self.reason, rule))
        if is_completed == (self.change is None):
            found = InWords("nothing" if self.change is None else "an outcome")
            broken.append(Broken(("change",), found, "an outcome for a completed pair, else null"))
        broken += repeated(("arms", "arm"), [arm.arm for arm in self.arms])
        if broken:
            raise RelationError(*broken)
        return self
