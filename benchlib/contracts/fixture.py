"""A fixture owns the evidence: corpus, memory's contents, and the proofs that it was there."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from benchlib.contracts.base import (
    Contract,
    Count,
    GitCommit,
    Identifier,
    RelationError,
    Sha256,
    Version1,
    repeated,
)
from benchlib.contracts.paths import FileIdentifier, PortablePath

FindingKind = Literal[
    "auto-loaded-context",
    "suspicious-metadata",
    "benchmark-awareness",
    "patch-or-diff",
    "solution-leak",
]
ProbeKind = Literal["fulltext", "semantic", "graph"]
Location = Annotated[str, StringConstraints(min_length=1, max_length=2048)]


class GitCorpus(Contract):
    """A commit of a repository, a URL or a bundle; its objects alone make the tree."""

    kind: Literal["git"]
    location: Location  # a path below the cohort, an absolute path, a URL, or a bundle
    commit: GitCommit


class ArchiveCorpus(Contract):
    """A release archive, pinned by digest; it becomes Git objects before anything else."""

    kind: Literal["archive"]
    location: Location  # a path below the cohort or an absolute path; tar (gz, bz2, xz) or zip
    sha256: Sha256


class DeclaredFinding(Contract):
    """A finding that the plan keeps on purpose, by path and content."""

    kind: FindingKind
    path: PortablePath
    sha256: Sha256
    why: Annotated[str, StringConstraints(min_length=10, max_length=500)]


class Declarations(Contract):
    """What would be refused in this corpus and is wanted all the same."""

    submodules: tuple[PortablePath, ...] = ()  # left out of the tree, named in its receipt
    lfs_pointers: tuple[PortablePath, ...] = ()  # kept as pointers, named in its receipt
    redact_also: tuple[PortablePath, ...] = ()  # auto-loaded context that no pattern names
    findings: tuple[DeclaredFinding, ...] = ()


class Artifact(Contract):
    """A file below the fixture root, pinned."""

    path: PortablePath
    sha256: Sha256
    bytes: Count


class GraphArm(Contract):
    """One content of the memory: populated, empty, or anything between."""

    id: Identifier
    graph: Artifact
    least_items: Count  # fewer after restore is `memory-empty`; 0 for one that is empty on purpose
    probes_answer: bool  # False for one that is empty on purpose: required probes must then miss


class Probe(Contract):
    """A question whose answer proves that the memory is there and can be retrieved."""

    name: Identifier
    kind: ProbeKind
    query: Annotated[str, StringConstraints(min_length=1, max_length=2000)]
    expected_id: Annotated[str, StringConstraints(min_length=1, max_length=256)]
    within_rank: Annotated[int, Field(ge=1, le=100)]
    is_required: bool


class DeliveryPhrase(Contract):
    """A text of the memory that, seen by the model, shows that this item was delivered."""

    item: Annotated[str, StringConstraints(min_length=1, max_length=256)]
    text: Annotated[str, StringConstraints(min_length=12, max_length=2000)]


class Fixture(Contract):
    """The evidence that a challenge is asked on."""

    schema_version: Version1 = 1
    id: FileIdentifier
    corpus: Annotated[GitCorpus | ArchiveCorpus, Field(discriminator="kind")]
    declarations: Declarations = Declarations()
    evidence_corpus: Artifact  # the texts that the memory was made from, one JSON object a line
    graph_arms: Annotated[tuple[GraphArm, ...], Field(min_length=1)]
    probes: tuple[Probe, ...]
    delivery_phrases: tuple[DeliveryPhrase, ...]

    @model_validator(mode="after")
    def _names_are_unique(self) -> Fixture:
        arms = repeated(("graph_arms", "id"), [arm.id for arm in self.graph_arms])
        probes = repeated(("probes", "name"), [probe.name for probe in self.probes])
        if arms or probes:
            raise RelationError(*arms, *probes)
        return self
