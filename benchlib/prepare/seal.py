"""The one way to a sealed workspace: a tree, and a certificate that is about this very tree."""

from __future__ import annotations

from benchlib.contracts.boundaries import SealedWorkspace
from benchlib.contracts.certification import Certification
from benchlib.contracts.tree import tree_sha256
from benchlib.errors import InWords, RefusedError
from benchlib.prepare.tree import BuiltTree
from benchlib.prepare.words import next_step


def seal(built: BuiltTree, certification: Certification) -> SealedWorkspace:
    """Seal a certified tree; from here on nobody writes into it.

    Args:
        built: The tree.
        certification: The verdict over it and every other surface.

    Returns:
        The workspace that both arms start from.

    Raises:
        RefusedError: Something was found, or the certificate is about another tree or none.
    """
    sha256 = tree_sha256(built.entries)
    read = [surface for surface in certification.surfaces if surface.kind == "source"]
    if not certification.passed:
        raise _refused(certification)
    if [surface.sha256 for surface in read] != [sha256]:
        raise RefusedError(
            str(built.root),
            "source",
            found=read[0].sha256 if read else "a certificate without a source surface",
            allowed=f"a certificate of the tree {sha256}",
            next_step="certify this tree",
        )
    return SealedWorkspace(
        root=built.root,
        entries=built.entries,
        sha256=sha256,
        certification_sha256=certification.canonical_sha256(),
    )


def _refused(certification: Certification) -> RefusedError:
    """Report all findings in one error, each as one part."""
    if not certification.findings:
        return RefusedError(
            "certification",
            found=InWords("no surface was read"),
            allowed="a certificate over every surface",
            next_step="certify the workspace",
        )
    first, *others = [
        RefusedError(
            f"{finding.surface}: {finding.path}" + f":{finding.line}" * bool(finding.line),
            finding.kind,
            found=finding.pattern,
            allowed=f"nothing of the kind, for {finding.why}",
            next_step=next_step(finding),
        )
        for finding in certification.findings
    ]
    first.also = tuple(others)
    return first
