"""The receipt of the only step that modifies a packaged tree."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import StringConstraints

from benchlib.contracts.base import Contract, Count, GitMode, Sha256, Version1
from benchlib.contracts.paths import PortablePath


class Removed(Contract):
    """One entry of auto-loaded context that redaction took out, alike for both arms.

    With the pinned commit at hand, a reader can rebuild it and check the digest.
    """

    path: PortablePath
    mode: GitMode
    size_bytes: Count  # of the blob as committed, before any filter
    sha256: Sha256  # of the same bytes
    reason: Literal["pattern", "root-case-variant", "link-to-redacted", "declared"]
    pattern: str  # the row that named it, or that took the link's target
    target: Annotated[str, StringConstraints(max_length=4096)] | None = None  # of a link


class RedactionReceipt(Contract):
    """Every change that was made to a packaged tree; `certify` makes none."""

    schema_version: Version1 = 1
    before: Sha256  # tree digest as built from the commit
    after: Sha256  # tree digest that certification reads
    entries_before: Count
    entries_after: Count
    patterns_sha256: Sha256  # of the pattern list that was in force
    removed: tuple[Removed, ...]  # by path
