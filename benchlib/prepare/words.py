"""Preparations and findings as a person reads them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from benchlib.contracts.certification import Certification, Finding
from benchlib.contracts.pair import Preparation
from benchlib.contracts.redaction import Removed
from benchlib.contracts.tree import PreparedTree


def preparation_in_words(preparation: Preparation) -> str:
    """Return the whole story of a workspace: tree, redaction, certification.

    Args:
        preparation: The receipt.
    """
    lines = [*_tree(preparation.tree), *_removed(preparation.redaction.removed)]
    if preparation.prebuilt_sha256 is not None:
        lines.append(f"prebuilt   tree digest {preparation.prebuilt_sha256[:16]}")
    return "\n".join([*lines, certification_in_words(preparation.certification)])


def certification_in_words(certification: Certification) -> str:
    """Return what was read and what was found.

    Args:
        certification: The verdict.
    """
    size = sum(surface.size_bytes for surface in certification.surfaces)
    kinds = Counter(surface.kind for surface in certification.surfaces)
    read = ", ".join(f"{kind} ({count})" if count > 1 else kind for kind, count in kinds.items())
    lines = [f"read       {read}; {size:,} bytes"]
    if certification.corpus_unchecked_by is not None:
        lines.append(f"UNCHECKED  the corpus was absent: {certification.corpus_unchecked_by}")
    lines += _group("declared", certification.declared)
    lines += _group("note", certification.notes)
    lines.append(findings_in_words(certification.findings))
    return "\n".join(lines)


def findings_in_words(findings: Iterable[Finding]) -> str:
    """Return findings as text, three lines each: where, what, what to do.

    Args:
        findings: Those that nobody declared.
    """
    texts = [finding_in_words(finding) for finding in findings]
    if not texts:
        return "certified  nothing that an agent must not see"
    count = "1 finding" if len(texts) == 1 else f"{len(texts)} findings"
    return "\n".join([f"REFUSED    {count}", *texts])


def finding_in_words(finding: Finding) -> str:
    """Return one finding as text."""
    return "\n".join(
        [
            f"  {_where(finding)}",
            f"    {finding.kind}: {finding.pattern!r}: {finding.why}",
            f"    next: {next_step(finding)}",
        ]
    )


def next_step(finding: Finding) -> str:
    """Say what a person can do about a finding."""
    if finding.surface == "source" and finding.kind == "auto-loaded-context":
        return f"add {finding.path!r} to declarations.redact_also, or declare it: {_key(finding)}"
    if finding.sha256 is not None:
        return f"mend it at its source, or declare it: {_key(finding)}"
    return "change the text or the name; it can't be declared"


def _key(finding: Finding) -> str:
    return f"kind {finding.kind}, path {finding.path!r}, sha256 {finding.sha256}"


def _where(finding: Finding) -> str:
    place = f"{finding.surface}: {finding.path}"
    return f"{place}:{finding.line}" if finding.line is not None else place


def _tree(tree: PreparedTree) -> list[str]:
    lines = [
        f"tree       {tree.entries:,} entries, {tree.size_bytes:,} bytes, commit {tree.commit}"
    ]
    if tree.archive_sha256 is not None:
        lines.append(f"  imported from the archive {tree.archive_sha256}")
    lines += [f"  left out: submodule {path}" for path in tree.submodules]
    lines += [f"  kept as LFS pointer: {path}" for path in tree.lfs_pointers]
    lines += [f"  dangles: {link.path} -> {link.target}" for link in tree.dangling_links]
    return lines


def _removed(removed: tuple[Removed, ...]) -> list[str]:
    lines = [f"redacted   {len(removed)} entries"]
    return lines + [
        f"  {one.path} ({one.pattern}{'' if one.reason == 'pattern' else ', ' + one.reason})"
        for one in removed
    ]


def _group(title: str, findings: tuple[Finding, ...]) -> list[str]:
    return [f"{title:<10} {_where(one)}: {one.kind}, {one.pattern!r}" for one in findings]
