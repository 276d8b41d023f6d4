"""The messages of the three-verb boundary to a memory system, and the record of each call."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints

from benchlib.contracts.base import (
    LARGEST_INTEGER,
    Contract,
    Count,
    Identifier,
    Milliseconds,
    Number,
    ReasonCode,
    Sha256,
    Whole,
)
from benchlib.contracts.fixture import Artifact, ProbeKind

Verb = Literal["restore", "snapshot", "destroy"]
RunIdentity = Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]{8,64}$")]
Project = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$")]
Seconds = Annotated[float, Field(ge=0, le=LARGEST_INTEGER)]


class Artifacts(Contract):
    """What a memory is restored from."""

    evidence_corpus: Artifact
    graph: Artifact


class RestoreRequest(Contract):
    """Asks for a fresh project with this content; paths are below the working folder."""

    fixture: Identifier
    graph_arm: Identifier
    run_identity: RunIdentity
    artifacts: Artifacts


class RestoreResponse(Contract):
    """The project that was made, and how much of it still waits to be indexed."""

    project: Project
    queue_before_count: Count
    restore_seconds: Seconds


class ProjectRequest(Contract):
    """Names the project that `snapshot` or `destroy` is about."""

    project: Project


class StateItem(Contract):
    """One item of the memory, for a person to read."""

    id: Annotated[str, StringConstraints(min_length=1, max_length=256)]
    text: Annotated[str, StringConstraints(max_length=100_000)]


class State(Contract):
    """The canonical projection of a memory's content; equal state, equal digest."""

    digest: Sha256
    counts: dict[Identifier, Count]
    schema_: Annotated[Identifier, Field(alias="schema")]
    items: Annotated[tuple[StateItem, ...], Field(max_length=10_000)] | None = None


class Hit(Contract):
    """One answer to a probe, best first."""

    id: Annotated[str, StringConstraints(min_length=1, max_length=256)]
    score: Number | None
    sha256: Sha256  # of the hit's text


class ProbeAnswer(Contract):
    """What the memory answered; a kind that it cannot answer is present, not left out."""

    kind: ProbeKind
    query: str
    hits: tuple[Hit, ...]
    answered: bool


class SnapshotResponse(Contract):
    """The memory read back, without changing it."""

    state: State
    probes: dict[Identifier, ProbeAnswer]
    queue_after_count: Count
    snapshot_seconds: Seconds


def _true(ok: bool) -> bool:
    if not ok:
        msg = "true; a failure is an exit status"
        raise ValueError(msg)
    return ok


class DestroyResponse(Contract):
    """Success; a failure is an exit status, never `false`."""

    ok: Annotated[bool, AfterValidator(_true), Field(json_schema_extra={"const": True})]


class ProvisionerCall(Contract):
    """The record of one call, kept whether it succeeded or not."""

    verb: Verb
    reason: ReasonCode | None  # None for success
    detail: str  # in words; for success empty, or a remark such as on its clock
    exit_status: Whole | None
    signal: Count | None
    milliseconds: Milliseconds
    bytes_in: Count
    bytes_out: Count
    stderr_head: Annotated[str, StringConstraints(max_length=16_384)]  # escaped, never parsed
    stderr_bytes: Count
    argv: tuple[str, ...]


class MemoryEvidence(Contract):
    """What shows that the memory of a treatment arm was there, retrievable, and at rest."""

    project: Project
    graph_arm: Identifier
    graph_sha256: Sha256
    state_sha256: Sha256  # equal in two snapshots around an idle second
    counts: dict[Identifier, Count]
    probes: dict[Identifier, ProbeAnswer]
    state_after_sha256: Sha256 | None  # after the agent; None when it could not be read
    calls: tuple[ProvisionerCall, ...]
