"""What is kept of one arm of one attempt, whatever became of it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from benchlib.contracts.base import (
    Broken,
    Contract,
    Count,
    Identifier,
    Milliseconds,
    Ordinal,
    ReasonCode,
    RelationError,
    Sha256,
    UtcTime,
    Version1,
    Whole,
)
from benchlib.contracts.cohort import Channel, Isolation
from benchlib.contracts.paths import PortablePath
from benchlib.contracts.provisioner import MemoryEvidence, ProvisionerCall
from benchlib.contracts.usage import Usage

ArmName = Literal["control", "treatment"]
AttemptId = Annotated[str, StringConstraints(pattern=r"^a[1-9][0-9]{0,3}$")]
ArmStatus = Literal["completed", "void", "interrupted"]
Shown = Annotated[str, StringConstraints(max_length=4200)]  # escaped: may hold odd bytes


class Limits(Contract):
    """What holds an arm, as read back from the engine; None where nothing holds it."""

    milli_cpus: Count | None
    memory_bytes: Count | None
    max_processes: Count | None
    network: Literal["none", "open", "unrestricted"]  # unrestricted: the sandbox can't close it
    capabilities_dropped: bool
    no_new_privileges: bool


class SandboxFacts(Contract):
    """Where an arm ran, told as it was."""

    sandbox: Literal["docker", "local"]
    isolation: Isolation
    image: str  # image id under docker; `tree:` and the tree digest in the local sandbox
    workspace_sha256: Sha256  # tree digest that the arm started from
    limits: Limits
    user: str  # uid:gid inside
    locale: str
    time_zone: str
    home_was_fresh: bool
    parents_hidden: bool  # False: parents were visible and held nothing that a harness loads
    engine: str  # name and version


class Survivor(Contract):
    """A process that was still alive at the end of the agent's turn, and was killed."""

    pid: Count
    argv: Shown


class ProcessRecord(Contract):
    """One turn of the agent: how its process ended."""

    argv: tuple[str, ...]
    exit_status: Whole | None  # None when it was killed
    signal: Count | None
    timed_out: bool
    milliseconds: Milliseconds
    stdout_bytes: Count
    stderr_bytes: Count
    survivors: tuple[Survivor, ...]


class Mutation(Contract):
    """One difference between the sealed workspace and the finished one."""

    path: Shown
    change: Literal["added", "removed", "content", "mode", "link-target", "type"]
    is_declared: bool
    known_writer: str | None = None  # the tool that is known to write such a path
    declare_with: str | None = None  # the line that would allow it


class MutationReport(Contract):
    """Everything that the arm changed; one undeclared mutation forces the reward to zero."""

    before: Sha256
    after: Sha256
    mutations: tuple[Mutation, ...]  # by path
    method: Literal["full-scan", "upper-directory"]

    @property
    def undeclared(self) -> tuple[Mutation, ...]:
        """The mutations outside the allowed outputs."""
        return tuple(mutation for mutation in self.mutations if not mutation.is_declared)


class Check(Contract):
    """One named check of a verifier."""

    name: Annotated[str, StringConstraints(max_length=300)]
    passed: bool
    detail: Annotated[str, StringConstraints(max_length=4000)] = ""


class VerdictFile(Contract):
    """The one object that a verifier writes to the file it was given."""

    passed: bool
    reason: Annotated[str, StringConstraints(max_length=4000)] = ""
    checks: Annotated[tuple[Check, ...], Field(max_length=1000)] = ()


class Verdict(Contract):
    """What the verifier said, or why it said nothing."""

    status: Literal["passed", "failed", "no-verdict"]
    reason: Shown
    checks: tuple[Check, ...]
    exit_status: Whole | None
    milliseconds: Milliseconds
    verifier_sha256: Sha256
    output_head: Annotated[str, StringConstraints(max_length=8192)]  # for a person; never parsed


class Delivered(Contract):
    """An item of memory that the model saw, by which channel, and how that is known."""

    item: str
    channel: str  # a delivery channel, or `unattributed`
    by: Literal["mark", "phrase"]
    step_id: Ordinal
    is_partial: bool  # the mark at the end was cut off
    confirmed_on_wire: bool | None  # None where no wire was recorded


class Delivery(Contract):
    """Fact one: memory reached the model."""

    items: tuple[Delivered, ...]
    in_prompt: tuple[str, ...]  # items whose phrase stands in the runner's own prompt: a leak
    disagreements: tuple[str, ...]  # where log and wire tell different stories

    @property
    def any(self) -> bool:
        """Whether anything was delivered by a declared channel."""
        return any(item.channel != "unattributed" for item in self.items)


class Use(Contract):
    """Fact two: the agent acted on what was delivered."""

    used: bool
    evidence: tuple[str, ...]  # the declared texts that were found after the first delivery
    step_ids: tuple[Ordinal, ...]


class KeptFile(Contract):
    """A file that lies beside the receipt."""

    path: PortablePath
    sha256: Sha256
    bytes: Count


class Launch(Contract):
    """All that an arm was started with; two arms are compared by these."""

    image: str
    argv: tuple[tuple[str, ...], ...]  # one argv per step, places of the sandbox as `{workspace}`…
    environment: tuple[tuple[str, str], ...]  # by name
    prompts: tuple[str, ...]
    limits: Limits
    agent_timeout_seconds: Count
    model: str
    agent_files_sha256: Sha256
    channels: tuple[Channel, ...]  # the declared difference


class ArmReceipt(Contract):
    """One arm of one attempt at a pair."""

    schema_version: Version1 = 1
    cohort: Identifier
    cohort_version: Count
    lock_sha256: Sha256
    pair: Identifier
    attempt: AttemptId
    arm: ArmName
    condition: Identifier
    status: ArmStatus
    reason: ReasonCode | None  # of a void or interrupted arm
    detail: Shown  # in words; empty for a completed arm
    model_kind: Literal["scripted", "none"]  # a scripted policy is no language model
    model: str
    agent: str  # adapter and version
    started_at: UtcTime
    milliseconds: Milliseconds  # of the agent's turns, without apparatus
    launch: Launch | None
    sandbox: SandboxFacts | None
    processes: tuple[ProcessRecord, ...]
    usage: Usage | None  # as the gateway metered it
    usage_differences: tuple[Shown, ...] = ()  # where the agent's own log says otherwise
    steps: Count | None
    mutations: MutationReport | None
    verdict: Verdict | None
    reward: Annotated[int, Field(ge=0, le=1)] | None  # None when the arm is void
    delivery: Delivery | None
    use: Use | None
    memory: MemoryEvidence | None
    failed_memory: tuple[ProvisionerCall, ...] = ()  # the calls up to the one that voided the arm
    files: tuple[KeptFile, ...]

    @model_validator(mode="after")
    def _only_completed_arms_have_a_reward(self) -> ArmReceipt:
        is_completed = self.status == "completed"
        broken = []
        if is_completed == (self.reason is not None):
            rule = "null for a completed arm, a reason code for any other"
            broken.append(Broken(("reason",), self.reason, rule))
        if is_completed == (self.reward is None):
            rule = "0 or 1 for a completed arm, null for any other"
            broken.append(Broken(("reward",), self.reward, rule))
        if broken:
            raise RelationError(*broken)
        return self
