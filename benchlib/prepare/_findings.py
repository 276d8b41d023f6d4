"""What a certification collects while it reads: findings, and what it read."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchlib.contracts.certification import Finding, SurfaceKind, SurfaceRead
from benchlib.contracts.fixture import Declarations, FindingKind
from benchlib.contracts.tree import scan_tree, tree_sha256
from benchlib.errors import InputError, InWords, escaped
from benchlib.prepare._scanner import Scanner

LONGEST_PATH = 4000
"""A path is cut here in a finding; the contract's bound leaves room for escapes."""


@dataclass
class Collected:
    """Everything found so far. A finding is kept with its path as stored, for declarations."""

    surfaces: list[SurfaceRead] = field(default_factory=list)
    found: list[tuple[str, Finding]] = field(default_factory=list)
    notes: list[Finding] = field(default_factory=list)

    def read(
        self, name: str, kind: SurfaceKind, *, files: int, size_bytes: int, sha256: str
    ) -> None:
        """Remember that a surface was read to its end."""
        self.surfaces.append(
            SurfaceRead(name=name, kind=kind, files=files, size_bytes=size_bytes, sha256=sha256)
        )

    def add(
        self,
        surface: str,
        path: str,
        kind: FindingKind,
        pattern: str,
        why: str,
        *,
        line: int | None = None,
        sha256: str | None = None,
        is_note: bool = False,
    ) -> None:
        """Add one finding, or a note."""
        finding = Finding(
            surface=surface,
            path=escaped(path)[:LONGEST_PATH],
            line=line,
            kind=kind,
            pattern=pattern,
            why=why,
            sha256=sha256,
        )
        if is_note:
            self.notes.append(finding)
        else:
            self.found.append((path, finding))

    def add_hits(
        self,
        surface: str,
        path: str,
        scanner: Scanner,
        hits: Mapping[int, int],
        *,
        sha256: str | None = None,
        line: int | None = None,
        in_name: bool = False,
    ) -> None:
        """Add what a scanner saw in a text, or in a name.

        Args:
            surface: The surface's name.
            path: The file, field or name.
            scanner: Whose rules the hits index.
            hits: Rule to line.
            sha256: Of the file.
            line: A line that counts instead of the hit's own.
            in_name: Whether the name is meant and not a line.
        """
        for index, at in hits.items():
            rule = scanner.rules[index]
            self.add(
                surface,
                path,
                rule.kind,
                rule.pattern,
                rule.why + (" (in the name)" if in_name else ""),
                line=None if in_name else (line or at),
                sha256=sha256,
                is_note=rule.is_note,
            )

    def sorted_out(
        self, declarations: Declarations, *, may_be_unused: bool
    ) -> tuple[tuple[Finding, ...], tuple[Finding, ...], tuple[Finding, ...]]:
        """Part what the plan declared from what it did not.

        Args:
            declarations: Kind, path and digest of what the plan keeps on purpose.
            may_be_unused: Whether a declaration may match nothing, for want of a corpus.

        Returns:
            Findings, declared findings, notes: each in order.

        Raises:
            InputError: A declaration matches nothing; all of them at once.
        """
        wanted = {(one.kind, one.path, one.sha256): one for one in declarations.findings}
        used = set()
        findings: list[Finding] = []
        declared: list[Finding] = []
        for path, finding in self.found:
            key = (finding.kind, path, finding.sha256 or "")
            if key in wanted:
                used.add(key)
            (declared if key in wanted else findings).append(finding)
        unused = [] if may_be_unused else [key for key in wanted if key not in used]
        if unused:
            raise _unused(unused, [finding for _, finding in self.found])
        return _ordered(findings), _ordered(declared), _ordered(self.notes)


def _ordered(findings: list[Finding]) -> tuple[Finding, ...]:
    return tuple(
        sorted(
            dict.fromkeys(findings),
            key=lambda one: (one.surface, one.path, one.line or 0, one.kind, one.pattern),
        )
    )


def _unused(unused: list[tuple[FindingKind, str, str]], findings: list[Finding]) -> InputError:
    now = {(one.kind, one.path): one.sha256 for one in findings}
    errors = [
        InputError(
            "fixture",
            f"declarations.findings: {path}",
            found=InWords(f"{kind} with sha256 {sha256}, and no such finding")
            + (f"; there is one with sha256 {now[kind, path]}" if (kind, path) in now else ""),
            allowed="declarations that a finding needs",
            next_step="look at the file again, then correct the digest or remove the declaration",
        )
        for kind, path, sha256 in unused
    ]
    errors[0].also = tuple(errors[1:])
    return errors[0]


def no_surface(place: str, found: str) -> InputError:
    """Return the error for a surface that could not be looked at."""
    return InputError(
        place,
        found=found,
        allowed="a surface that can be read: what nobody looked at can't be certified",
        next_step="put it there, or correct the plan",
    )


def digest_at(location: Path) -> str:
    """Digest what stands at a place, so that a plan can declare it: a folder as a tree.

    Raises:
        OSError: It can't be read.
    """
    if location.is_symlink():
        target = os.readlink(location)  # noqa: PTH115 - Path would tidy it
        return hashlib.sha256(os.fsencode(target)).hexdigest()
    if location.is_dir():
        return tree_sha256(scan_tree(location))
    if not location.is_file():
        return hashlib.sha256(b"").hexdigest()
    with location.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
