"""A tree of files: what it holds, and the one digest of it.

The digest covers path, mode, type and content of each entry and nothing else:
no times, no owners, no empty folders (Git has none).
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import StringConstraints

from benchlib.contracts.base import Contract, Count, GitCommit, Sha256, Version1
from benchlib.contracts.paths import PortablePath

REGULAR, EXECUTABLE, LINK = "100644", "100755", "120000"


class TreeEntry(NamedTuple):
    """One file or link. A plain tuple: a tree may hold a hundred thousand."""

    path: str  # relative, POSIX; bytes that are no UTF-8 stand as surrogate escapes
    mode: str  # 100644, 100755, 120000; or a type's name where Git knows none (scan_tree)
    size_bytes: int  # of the content; of the target's bytes for a link
    sha256: str  # of the content; of the target's bytes for a link
    permissions: int = 0o644  # as on disk; seen by the audit, not covered by the tree's digest


def laid_permissions(mode: str) -> int:
    """Return the permission bits with which an entry of that mode stands in an untouched arm.

    Git knows one bit of nine; the others of a prepared tree depend on who prepared it.
    """
    if mode == LINK:
        return 0o777
    return 0o755 if mode == EXECUTABLE else 0o644


def tree_sha256(entries: Iterable[TreeEntry]) -> str:
    """Digest a tree.

    SHA-256 over, for each entry in the order of its path's bytes, the mode, a blank,
    the content's SHA-256 in hexadecimal, a blank, the path's bytes and a NUL.

    Example:
        >>> tree_sha256([])[:16]
        'e3b0c44298fc1c14'
    """
    digest = hashlib.sha256()
    for raw, entry in sorted((os.fsencode(entry.path), entry) for entry in entries):
        digest.update(f"{entry.mode} {entry.sha256} ".encode() + raw + b"\0")
    return digest.hexdigest()


def scan_tree(root: Path, *, leave_out: frozenset[str] = frozenset()) -> Iterator[TreeEntry]:
    """Read a folder's entries from disk, never following a link.

    Args:
        root: A folder.
        leave_out: Names directly below the root that are not looked at, such as ``.git``.

    Yields:
        Entries in no promised order. A folder is an entry only when it is empty (mode
        ``folder``); a FIFO, device or socket has its type as mode and an empty content. What
        lies deeper than a path can name has the mode ``too-deep``: whoever made it walked down.

    Raises:
        OSError: A file can't be read.
    """
    pending = [""]
    while pending:
        folder = pending.pop()
        children = 0
        try:
            listing = os.scandir(root / folder if folder else root)
        except OSError as error:
            yield _too_deep(error, folder)
            continue
        with listing:
            for child in listing:
                children += 1
                path = f"{folder}/{child.name}" if folder else child.name
                if path in leave_out:
                    continue
                if child.is_dir(follow_symlinks=False):
                    pending.append(path)
                else:
                    try:
                        entry = entry_at(child.path, path)
                    except OSError as error:
                        entry = _too_deep(error, path)
                    yield entry
        if children == 0 and folder:
            yield TreeEntry(folder, "folder", 0, _EMPTY)


def _too_deep(error: OSError, path: str) -> TreeEntry:
    if error.errno != errno.ENAMETOOLONG:
        raise error
    return TreeEntry(path, "too-deep", 0, _EMPTY)


def entry_at(location: str, path: str) -> TreeEntry:
    """Read one file, link or special file as the entry of that path."""
    status = os.lstat(location)
    permissions = stat.S_IMODE(status.st_mode)
    if stat.S_ISLNK(status.st_mode):
        target = os.fsencode(os.readlink(location))  # noqa: PTH115 - a str in, bytes wanted
        return TreeEntry(path, LINK, len(target), hashlib.sha256(target).hexdigest(), 0o777)
    if stat.S_ISREG(status.st_mode):
        mode = EXECUTABLE if status.st_mode & stat.S_IXUSR else REGULAR
        return TreeEntry(path, mode, status.st_size, _file_sha256(location), permissions)
    return TreeEntry(path, _TYPES[stat.S_IFMT(status.st_mode)], 0, _EMPTY, permissions)


def _file_sha256(location: str) -> str:
    """Digest a file without a buffer per file: the hot loop of every scan."""
    file = os.open(location, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        part = os.read(file, _PART)
        digest = hashlib.sha256(part)
        while len(part) == _PART:
            part = os.read(file, _PART)
            digest.update(part)
        return digest.hexdigest()
    finally:
        os.close(file)


_PART = 128 * 1024
_EMPTY = hashlib.sha256(b"").hexdigest()
_TYPES = {
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "character-device",
    stat.S_IFBLK: "block-device",
    stat.S_IFDIR: "folder",
}


class DanglingLink(Contract):
    """A link whose target is not in the tree; kept as the commit has it, and named."""

    path: PortablePath
    target: Annotated[str, StringConstraints(max_length=4096)]


class PreparedTree(Contract):
    """What a pinned commit holds, and what was left out because the plan declared it."""

    schema_version: Version1 = 1
    commit: GitCommit
    git_tree: GitCommit  # the id of the commit's tree object
    tree_sha256: Sha256
    entries: Count
    size_bytes: Count
    submodules: tuple[PortablePath, ...]  # declared, left out
    lfs_pointers: tuple[PortablePath, ...]  # declared, kept as pointers
    dangling_links: tuple[DanglingLink, ...]
    archive_sha256: Sha256 | None = None  # of the release archive that it was imported from
