"""What the gate saw on every surface that an agent can see."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import StringConstraints

from benchlib.contracts.base import Contract, Count, Ordinal, Sha256, Version1
from benchlib.contracts.fixture import FindingKind

SurfaceKind = Literal["source", "evidence", "graph", "challenge", "kit-names", "image"]


class Finding(Contract):
    """One thing that an agent must not see, and where it stands."""

    surface: Annotated[str, StringConstraints(max_length=200)]  # kind, and name after a colon
    path: Annotated[str, StringConstraints(max_length=4200)]  # as shown: escapes for odd bytes
    line: Ordinal | None  # None where the name or the whole file is meant
    kind: FindingKind
    pattern: str  # the row or term that matched
    why: str  # why it matters, in one sentence
    sha256: Sha256 | None  # of the file, so that a plan can declare it


class SurfaceRead(Contract):
    """A surface that was really read."""

    name: str
    kind: SurfaceKind
    files: Count
    size_bytes: Count
    sha256: Sha256  # tree digest, or digest of the text


class Certification(Contract):
    """The verdict of the gate over every surface; empty findings and no absent surface pass."""

    schema_version: Version1 = 1
    surfaces: tuple[SurfaceRead, ...]
    findings: tuple[Finding, ...]  # those that the plan did not declare
    declared: tuple[Finding, ...]  # those that it did, by path and digest
    notes: tuple[Finding, ...]  # worth a look, no ground for refusal
    vocabulary_sha256: Sha256
    corpus_unchecked_by: str | None = None  # the opt-out variable, when the corpus was absent

    @property
    def passed(self) -> bool:
        """Whether the inputs may be sealed."""
        return not self.findings and bool(self.surfaces)
