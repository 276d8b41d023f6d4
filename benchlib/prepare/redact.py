"""Remove auto-loaded context from a built tree: the one step that modifies it.

Rules, in this order:

1. An entry goes if a row of the pattern list names it; at the root also a case variant
   of a bare name.
2. An entry goes if the plan declares it in `redact_also`, itself or a folder above it.
3. A link goes if what it leads to, or through, was removed: a file, another link that
   went, or a folder of which nothing is left. Repeated until nothing changes.

Nothing is rewritten, and no import is followed. What is left is judged by `certify`.
Redacting twice is redacting once.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from benchlib.contracts.fixture import Declarations
from benchlib.contracts.redaction import RedactionReceipt, Removed
from benchlib.contracts.tree import EXECUTABLE, LINK, TreeEntry
from benchlib.errors import InputError, OutsideError
from benchlib.prepare._autoload import patterns_sha256, removed_by
from benchlib.prepare._links import Trail, follow, look_among
from benchlib.prepare._names import folders_of
from benchlib.prepare.tree import BuiltTree, as_it_is_now, link_targets, remove_empty_folders

Reason = Literal["pattern", "root-case-variant", "link-to-redacted", "declared"]
_Reasons = dict[str, tuple[Reason, str]]  # path -> reason, row


def redact(built: BuiltTree, declarations: Declarations) -> tuple[BuiltTree, RedactionReceipt]:
    """Remove what a harness would load unasked, on disk and from the entries.

    Args:
        built: The tree; its folder is modified.
        declarations: `redact_also` names more, by path.

    Returns:
        The tree that is left, and the receipt of all that went.

    Raises:
        InputError: A path in `redact_also` names nothing.
        OutsideError: The disk refused.
    """
    targets = _targets(built)
    reasons = _named(built.entries)
    _add_declared(reasons, built, declarations)
    _add_links(reasons, built.entries, targets)
    removed = tuple(
        _receipt(entry, *reasons[entry.path], targets)
        for entry in built.entries
        if entry.path in reasons
    )
    kept = tuple(entry for entry in built.entries if entry.path not in reasons)
    _remove(built.root, list(reasons))
    kept_targets = {path: target for path, target in targets.items() if path not in reasons}
    left = as_it_is_now(built.receipt, kept, kept_targets)
    receipt = RedactionReceipt(
        before=built.sha256,
        after=left.tree_sha256,
        entries_before=len(built.entries),
        entries_after=len(kept),
        patterns_sha256=patterns_sha256(),
        removed=removed,
    )
    return BuiltTree(left, kept, built.root, is_redacted=True), receipt


def _targets(built: BuiltTree) -> dict[str, str]:
    try:
        return link_targets(built.root, built.entries)
    except OSError as error:
        raise _disk(built.root, error) from error


def _named(entries: tuple[TreeEntry, ...]) -> _Reasons:
    reasons: _Reasons = {}
    for entry in entries:
        named = removed_by(entry.path, is_link=entry.mode == LINK)
        if named is not None:
            is_variant = named.sort == "root-case-variant"
            reasons[entry.path] = ("root-case-variant" if is_variant else "pattern", named.row)
    return reasons


def _add_declared(reasons: _Reasons, built: BuiltTree, declarations: Declarations) -> None:
    unmatched = []
    for declared in declarations.redact_also:
        below = [
            entry.path
            for entry in built.entries
            if entry.path == declared or entry.path.startswith(declared + "/")
        ]
        if not below:
            unmatched.append(declared)
        for path in below:
            reasons.setdefault(path, ("declared", declared))
    if unmatched and not built.is_redacted:
        first, *others = [
            InputError(
                built.receipt.commit,
                "declarations.redact_also",
                found=path,
                allowed="paths that the commit holds",
                next_step="remove it, or correct its spelling",
            )
            for path in unmatched
        ]
        first.also = tuple(others)
        raise first


def _add_links(
    reasons: _Reasons, entries: tuple[TreeEntry, ...], targets: Mapping[str, str]
) -> None:
    """Take the links into what was removed, until nothing changes."""
    files = {entry.path for entry in entries if entry.mode != LINK}
    folders = folders_of([entry.path for entry in entries])
    look = look_among(targets, files, folders)
    trails = {path: follow(path, look) for path in targets}
    while True:
        left = folders_of([entry.path for entry in entries if entry.path not in reasons])
        emptied = folders - left
        took: _Reasons = {
            path: ("link-to-redacted", row)
            for path, trail in trails.items()
            if path not in reasons and (row := _row_that_took(trail, reasons, emptied))
        }
        if not took:
            return
        reasons.update(took)


def _row_that_took(trail: Trail, reasons: _Reasons, emptied: set[str]) -> str | None:
    """Return the row that removed the first thing on a link's way, if any was removed."""
    for path in (*trail.links, trail.last):
        if path in reasons:
            return reasons[path][1]
        if path in emptied:
            return next(
                row for one, (_, row) in sorted(reasons.items()) if one.startswith(path + "/")
            )
    return None


def _receipt(entry: TreeEntry, reason: Reason, row: str, targets: Mapping[str, str]) -> Removed:
    return Removed(
        path=entry.path,
        mode=_git_mode(entry.mode),
        size_bytes=entry.size_bytes,
        sha256=entry.sha256,
        reason=reason,
        pattern=row,
        target=targets.get(entry.path),
    )


def _git_mode(mode: str) -> Literal["100644", "100755", "120000"]:
    return "120000" if mode == LINK else "100755" if mode == EXECUTABLE else "100644"


def _remove(root: Path, paths: list[str]) -> None:
    try:
        for path in paths:
            (root / path).unlink()
        for folder in {path.rpartition("/")[0] for path in paths}:
            remove_empty_folders(root, folder)
    except OSError as error:
        raise _disk(root, error) from error


def _disk(root: Path, error: OSError) -> OutsideError:
    return OutsideError(
        str(error.filename or root),
        found=error.strerror or str(error),
        allowed="the tree as it was built",
        next_step="build the tree again",
    )
