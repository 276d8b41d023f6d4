"""Reading, copying and removing folders that something hostile wrote into.

No link is ever followed, no special file is ever opened, and a folder whose
permissions were taken away is still read and removed.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchlib.contracts.tree import LINK, TreeEntry, scan_tree
from benchlib.errors import InputError
from benchlib.processes import run_supervised

_CHUNK = 2**30
_PATH_MAX = 4096  # of Linux, with the byte that ends it


def read_regular(folder: Path, path: str, *, limit_bytes: int) -> tuple[bytes, int] | None:
    """Read the head of a file below a folder, following no link at any step.

    Args:
        folder: A folder that only we write into; itself trusted.
        path: A relative POSIX path below it.
        limit_bytes: How much to read at most.

    Returns:
        The bytes and the file's whole size; None when there is no regular file.

    Raises:
        InputError: The path is absolute or leaves the folder.
    """
    parts = path.split("/")
    if any(part in {"", ".", ".."} for part in parts):
        raise InputError(
            "path below a folder",
            found=path,
            allowed="a relative path without '.', '..' and empty parts",
            next_step="name the file as it lies below the folder",
        )
    opened: list[int] = []
    try:
        here = _open_step(str(folder), None, os.O_DIRECTORY, opened)
        for part in parts[:-1]:
            here = _open_step(part, here, os.O_DIRECTORY, opened)
        file = _open_step(parts[-1], here, os.O_NONBLOCK, opened)
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode):
            return None
        return _read_head(file, limit_bytes), status.st_size
    except OSError:
        return None
    finally:
        for descriptor in opened:
            os.close(descriptor)


def _open_step(name: str, here: int | None, flags: int, opened: list[int]) -> int:
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | flags, dir_fd=here)
    opened.append(descriptor)
    return descriptor


def _read_head(file: int, limit_bytes: int) -> bytes:
    parts, left = [], limit_bytes
    while left and (part := os.read(file, min(left, 1024 * 1024))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def scan_finished(root: Path) -> tuple[TreeEntry, ...]:
    """Read a finished workspace, `.git` left out, in the order of its paths' bytes.

    Args:
        root: The workspace on this machine, with no process left that could change it.
    """
    closed = _open_up(root)
    entries = sorted(
        scan_tree(root, leave_out=frozenset([".git"])), key=lambda entry: os.fsencode(entry.path)
    )
    if not closed:
        return tuple(entries)
    return tuple(
        entry._replace(permissions=closed.get(entry.path, entry.permissions)) for entry in entries
    )


def _open_up(root: Path) -> dict[str, int]:
    """Make readable what its writer closed, where we are its owner and not root.

    Returns:
        The permissions that files had before, by path: the audit must see those.
    """
    closed: dict[str, int] = {}
    if os.geteuid() == 0:
        return closed
    for location in _walk(root):
        status = os.lstat(location)
        permissions = stat.S_IMODE(status.st_mode)
        wanted = stat.S_IRWXU if stat.S_ISDIR(status.st_mode) else stat.S_IRUSR
        if stat.S_ISLNK(status.st_mode) or permissions & wanted == wanted:
            continue
        os.chmod(location, permissions | wanted)  # noqa: PTH101 - no link, and text is enough
        if stat.S_ISREG(status.st_mode):
            closed[os.path.relpath(location, root)] = permissions
    return closed


def _walk(root: Path) -> Iterator[str]:
    """Yield a folder before its children are listed, so that it can be opened first.

    However deep it goes: neither our stack nor the length of a path may be an agent's weapon.
    """
    pending = [os.fspath(root)]
    while pending:
        folder = pending.pop()
        try:
            yield folder
            with os.scandir(folder) as listing:
                children = list(listing)
        except OSError as error:
            if error.errno != errno.ENAMETOOLONG:
                raise
            continue
        for child in children:
            if child.is_dir(follow_symlinks=False):
                pending.append(child.path)
            else:
                yield child.path


def copy_entries(
    entries: tuple[TreeEntry, ...],
    destination: Path,
    places: Mapping[str, Path],
    *,
    unchanged: Path,
) -> None:
    """Copy a workspace's entries into a new folder: links as links, special files left out.

    Args:
        entries: What to copy; nothing else is looked at.
        destination: The new folder.
        places: Where single paths are.
        unchanged: The root of all others.
    """
    destination.mkdir(parents=True)
    root, made = os.fspath(destination), {""}
    for entry in entries:
        if not fits(f"{root}/{entry.path}"):
            continue  # the audit has found it; a verifier could not open it either
        source = places.get(entry.path) or unchanged / entry.path
        _make_folder(root, entry.path.rpartition("/")[0], made)
        if entry.mode == LINK:
            os.symlink(os.readlink(source), f"{root}/{entry.path}")  # noqa: PTH115, PTH211 - a Path would tidy it
        elif entry.mode == "folder":
            _make_folder(root, entry.path, made)
        elif entry.mode.startswith("100"):
            _copy_file(source, f"{root}/{entry.path}", entry.permissions & 0o777 | stat.S_IRUSR)


def _make_folder(root: str, path: str, made: set[str]) -> None:
    """Make a folder and its parents below a root that was empty when we began."""
    missing = []
    while path not in made:
        made.add(path)
        missing.append(path)
        path = path.rpartition("/")[0]
    for one in reversed(missing):
        os.mkdir(f"{root}/{one}")  # noqa: PTH102 - one call per folder of a large tree


def fits(location: str) -> bool:
    """Tell whether a path is short enough to be opened at all."""
    return len(os.fsencode(location)) < _PATH_MAX


def _copy_file(source: Path, target: str, permissions: int) -> None:
    """Copy in the kernel; a file is opened as the regular file that it was found to be."""
    reading = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        writing = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            while os.sendfile(writing, reading, None, _CHUNK):
                continue
            os.fchmod(writing, permissions)
        finally:
            os.close(writing)
    finally:
        os.close(reading)


def folder_files(folder: Path) -> dict[str, bytes]:
    """Read a folder of ours, such as a verifier; links are followed only inside it.

    Raises:
        InputError: A link leads out of the folder, or it holds a special file.
    """
    files = {}
    for entry in scan_tree(folder):
        location = folder / entry.path
        if entry.mode == "folder" or "__pycache__" in entry.path.split("/"):
            continue
        if not location.is_file() or not location.resolve().is_relative_to(folder.resolve()):
            raise InputError(
                str(location),
                found=entry.mode,
                allowed="files, and links to files below the same folder",
                next_step="put the file itself there",
            )
        files[entry.path] = location.read_bytes()
    return files


def give_away(folder: Path, user_id: int) -> None:
    """Make a folder and all below it belong to a user; only root can, others need not."""
    if os.geteuid() != 0 or folder.lstat().st_uid == user_id:
        return
    for location in _walk(folder):
        os.lchown(location, user_id, user_id)


def remove_tree(folder: Path) -> None:
    """Remove a folder whatever is inside; a missing one is no error."""
    if not folder.exists():
        return
    _open_up(folder)
    try:
        shutil.rmtree(folder)
    except (RecursionError, OSError):  # deeper than Python's stack, or than a path can say
        run_supervised(
            ["rm", "-rf", "--", str(folder)],
            cwd=folder.parent,
            environment={"PATH": os.defpath},
            stdin=b"",
            timeout_seconds=3600,
            stdout_limit_bytes=0,
            stderr_limit_bytes=0,
            stop_at_stdout_limit=False,
            grace_seconds=0,
        )
