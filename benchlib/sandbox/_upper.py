"""What an arm changed, read from the upper directory of its container's own layer.

The cost grows with what changed and not with the tree (a diff by the engine walks the
whole image). The rules are overlayfs's: a character device 0:0 hides the name below it,
a folder marked opaque hides the folder below it, anything else that is no folder
replaces what was there, and a folder that is not opaque is merged. A copied-up file may
have its old content. What is not exactly so (a redirect, a metadata-only copy, another
mark) makes the directory unreadable for us, and the caller reads the whole workspace.

Source:
    The kernel's Documentation/filesystems/overlayfs.rst.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from benchlib.contracts.tree import TreeEntry, entry_at
from benchlib.sandbox._places import as_laid

_EMPTY = hashlib.sha256(b"").hexdigest()
_PREFIXES = ("trusted.overlay.", "user.overlay.")
_OPAQUE = "trusted.overlay.opaque"
# These say where a copy came from, and change nothing of what is seen.
_HARMLESS = {f"trusted.overlay.{name}" for name in ("origin", "impure", "nlink", "uuid")}


class UnreadableUpperError(Exception):
    """The directory is not one whose meaning we know exactly."""


class LowerTree:
    """The sealed entries as an untouched arm holds them, found by path."""

    def __init__(self, entries: Sequence[TreeEntry]) -> None:
        self.entries = tuple(map(as_laid, entries))

    @cached_property
    def keys(self) -> list[bytes]:
        """The paths as bytes, in the order of the entries."""
        return [os.fsencode(entry.path) for entry in self.entries]

    def at(self, path: bytes) -> int | None:
        """Return the place of the entry with exactly this path."""
        place = bisect_left(self.keys, path)
        return place if place < len(self.keys) and self.keys[place] == path else None

    def below(self, folder: bytes) -> range:
        """Return the places of what lies below a folder."""
        if not folder:
            return range(len(self.keys))
        # "0" is the byte after "/".
        return range(bisect_left(self.keys, folder + b"/"), bisect_left(self.keys, folder + b"0"))


@dataclass(frozen=True)
class Merged:
    """A finished workspace: its entries, and where the changed files lie."""

    entries: tuple[TreeEntry, ...]
    places: dict[str, Path]  # of the paths that are no longer the sealed ones


def merge_upper(upper: Path, lower: LowerTree) -> Merged:
    """Lay an upper directory over the sealed entries.

    Args:
        upper: The workspace's folder in the upper directory; it may be absent.
        lower: The sealed entries.

    Returns:
        The entries as a full scan finds them, `.git` left out.

    Raises:
        UnreadableUpperError: Something in it has a meaning that is not known here.
    """
    walk = _Walk(upper, lower)
    if os.path.lexists(upper):
        walk.folder(b"", is_merged=not _is_opaque(os.fsencode(upper)))
    kept = lower.entries
    if walk.hidden:
        kept = tuple(entry for place, entry in enumerate(lower.entries) if place not in walk.hidden)
    if not walk.added:
        return Merged(kept, {})
    entries = sorted((*kept, *walk.added), key=lambda entry: os.fsencode(entry.path))
    places = {entry.path: upper / entry.path for entry in walk.added}
    return Merged(tuple(entries), places)


@dataclass
class _Walk:
    """One pass over an upper directory."""

    upper: Path
    lower: LowerTree
    added: list[TreeEntry] = field(default_factory=list)
    hidden: set[int] = field(default_factory=set)

    def folder(self, path: bytes, *, is_merged: bool) -> None:
        """Read one folder and those below it.

        Args:
            path: Relative to the workspace; empty for the workspace itself.
            is_merged: Whether the sealed folder of that name is seen through it.
        """
        pending = [(path, is_merged)]
        visited = []
        while pending:
            here, merged = pending.pop()
            visited.append(here)
            pending += self._children(here, is_merged=merged)
        children = {entry_key.rpartition(b"/")[0] for entry_key in visited if entry_key}
        children |= {os.fsencode(entry.path).rpartition(b"/")[0] for entry in self.added}
        for here in visited:
            if here:
                self._settle_emptiness(here, has_children=here in children)

    def _children(self, here: bytes, *, is_merged: bool) -> list[tuple[bytes, bool]]:
        folders: list[tuple[bytes, bool]] = []
        with os.scandir(os.path.join(os.fsencode(self.upper), here)) as listing:  # noqa: PTH118 - bytes
            for child in listing:
                path = here + b"/" + child.name if here else child.name
                if path == b".git":
                    continue
                try:
                    folders += self._child(child, path, is_merged=is_merged)
                except OSError as error:
                    if error.errno != errno.ENAMETOOLONG:
                        raise
                    # As `scan_tree` says it: whoever made this walked down to it.
                    self.added.append(TreeEntry(os.fsdecode(path), "too-deep", 0, _EMPTY))
        return folders

    def _child(
        self, child: os.DirEntry[bytes], path: bytes, *, is_merged: bool
    ) -> list[tuple[bytes, bool]]:
        """Take in one name; returns it when it is a folder that must be read."""
        status = child.stat(follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode):
            merged = is_merged and not _is_opaque(child.path)
            return [(path, self._merge_folder(path, is_merged=merged))]
        if is_merged:
            self._hide(path)
        if not _is_whiteout(status):
            _known_marks(child.path)  # refuses the others
            self.added.append(entry_at(os.fsdecode(child.path), os.fsdecode(path)))
        return []

    def _merge_folder(self, path: bytes, *, is_merged: bool) -> bool:
        """Hide what a folder replaces; tells whether the sealed folder is seen through it."""
        place = self.lower.at(path)
        replaces_file = place is not None and self.lower.entries[place].mode != "folder"
        if is_merged and not replaces_file:
            return True
        self._hide(path)
        return False

    def _hide(self, path: bytes) -> None:
        place = self.lower.at(path)
        if place is not None:
            self.hidden.add(place)
        self.hidden.update(self.lower.below(path))

    def _settle_emptiness(self, path: bytes, *, has_children: bool) -> None:
        """A folder is an entry when it is empty, and only then."""
        place = self.lower.at(path)
        is_listed = place is not None and place not in self.hidden
        is_empty = not has_children and all(
            below in self.hidden for below in self.lower.below(path)
        )
        if is_empty and not is_listed:
            location = os.path.join(os.fsencode(self.upper), path)  # noqa: PTH118 - bytes
            self.added.append(
                entry_at(os.fsdecode(location), os.fsdecode(path))._replace(permissions=0o644)
            )
        elif is_listed and not is_empty and place is not None:
            self.hidden.add(place)


def _is_whiteout(status: os.stat_result) -> bool:
    return stat.S_ISCHR(status.st_mode) and status.st_rdev == 0


def _is_opaque(location: bytes) -> bool:
    if _OPAQUE not in _known_marks(location):
        return False
    if os.getxattr(location, _OPAQUE, follow_symlinks=False) != b"y":
        raise UnreadableUpperError(os.fsdecode(location))
    return True


def _known_marks(location: bytes) -> frozenset[str]:
    marks = os.listxattr(location, follow_symlinks=False)
    ours = frozenset(mark for mark in marks if mark.startswith(_PREFIXES)) - _HARMLESS
    if not ours <= {_OPAQUE}:
        raise UnreadableUpperError(os.fsdecode(location))
    return ours
