"""A workspace through the engine's archive call, where its upper directory can't be read.

The archive is written by the engine from what an agent left, so its names are hostile:
each must lie below the workspace, below folders that we made ourselves, and no link is
ever followed. Hard links are files of their own, special files are left out of copies.
"""

from __future__ import annotations

import hashlib
import io
import os
import stat
import tarfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from benchlib.contracts.tree import EXECUTABLE, LINK, REGULAR, TreeEntry
from benchlib.errors import OutsideError
from benchlib.sandbox._files import fits, remove_tree

_CHUNK = 1024 * 1024
_EMPTY = hashlib.sha256(b"").hexdigest()
_SURELY_NAMED_BYTES = 3584  # 4096 less what stands before a workspace on the engine's side
_SPECIAL = {
    tarfile.FIFOTYPE: "fifo",
    tarfile.CHRTYPE: "character-device",
    tarfile.BLKTYPE: "block-device",
}


class ChunkReader(io.RawIOBase):
    """A stream of chunks as a file, so that no archive is ever held whole."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._left = b""

    def readable(self) -> bool:
        """It only reads."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # Buffer is 3.12
        """Fill a buffer from the next chunk."""
        while not self._left:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._left = chunk
        size = min(len(buffer), len(self._left))
        buffer[:size], self._left = self._left[:size], self._left[size:]
        return size


def archived_entries(
    chunks: Iterable[bytes], top: str, *, copy_to: Path | None
) -> tuple[TreeEntry, ...]:
    """Read the archive of a folder, and copy its files if asked to.

    Args:
        chunks: The archive as the engine sends it.
        top: The folder's own name, below which all others must lie.
        copy_to: A new folder for the files; None to read only.

    Returns:
        The entries as `scan_tree` finds them, `.git` left out, by their paths' bytes.

    Raises:
        OutsideError: The archive holds a name that leaves the folder, or is damaged.
    """
    copy = _Copy(copy_to) if copy_to else None
    reader = _Entries(top, copy)
    try:
        with tarfile.open(
            fileobj=io.BufferedReader(ChunkReader(chunks), _CHUNK),
            mode="r|",
            encoding="utf-8",
            errors="surrogateescape",
        ) as archive:
            for member in archive:
                reader.take(archive, member)
    except (tarfile.TarError, EOFError) as error:
        raise _refused(str(error)) from error
    if copy:
        copy.leave_out(".git")  # read until here, for a file outside may be a hard link into it
    return tuple(sorted(reader.all(), key=lambda entry: os.fsencode(entry.path)))


class _Entries:
    """What an archive holds, member by member."""

    def __init__(self, top: str, copy: _Copy | None) -> None:
        self._top = top
        self._copy = copy
        self._entries: dict[str, TreeEntry] = {}
        self._folders: set[str] = set()

    def take(self, archive: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        path = _path_below(member.name, self._top)
        member.mode = stat.S_IMODE(member.mode)  # the engine sends the type's bits as well
        if path is None:
            return
        if member.isdir():
            self._folders.add(path)
            if self._copy:
                self._copy.folder(path)
        elif member.islnk():
            self._take_hard_link(path, member)
        elif member.issym():
            self._take_link(path, member.linkname)
        elif member.isfile():
            self._take_file(path, archive, member)
        else:
            kind = _SPECIAL.get(member.type)
            if kind is None:
                raise _refused(f"{path} is of type {member.type!r}")
            self._entries[path] = TreeEntry(path, kind, 0, _EMPTY, member.mode)

    def _take_link(self, path: str, target: str) -> None:
        raw = os.fsencode(target)
        digest = hashlib.sha256(raw).hexdigest()
        self._entries[path] = TreeEntry(path, LINK, len(raw), digest, 0o777)
        if self._copy:
            self._copy.link(path, target)

    def _take_file(self, path: str, archive: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        mode = EXECUTABLE if member.mode & 0o100 else REGULAR
        digest = hashlib.sha256()
        chunks = _digested(_content(archive, member), digest.update)
        if self._copy:
            self._copy.file(path, chunks, member.mode)
        else:
            for _ in chunks:
                pass
        self._entries[path] = TreeEntry(path, mode, member.size, digest.hexdigest(), member.mode)

    def _take_hard_link(self, path: str, member: tarfile.TarInfo) -> None:
        first = _path_below(member.linkname, self._top)
        known = self._entries.get(first) if first else None
        if first is None or known is None:
            raise _refused(f"{path} is a hard link to {member.linkname}, which did not come before")
        self._entries[path] = known._replace(path=path)
        if self._copy:
            self._copy.same(path, first, known)

    def all(self) -> Iterator[TreeEntry]:
        """Yield the entries; a folder only when it is empty."""
        yield from (entry for path, entry in self._entries.items() if not _is_git(path))
        full = {path.rpartition("/")[0] for path in (*self._entries, *self._folders)}
        for path in self._folders - full:
            if not _is_git(path):
                # The engine leaves out, in silence, what no path can name from outside.
                is_deep = len(os.fsencode(path)) > _SURELY_NAMED_BYTES
                yield TreeEntry(path, "too-deep" if is_deep else "folder", 0, _EMPTY)


def _is_git(path: str) -> bool:
    return path.split("/", 1)[0] == ".git"


def _path_below(name: str, top: str) -> str | None:
    """Return a member's path below the folder; None for the folder itself."""
    parts = name.rstrip("/").split("/")
    if parts[0] != top or any(part in {"", ".", ".."} for part in parts):
        raise _refused(f"the name {name!r}")
    return "/".join(parts[1:]) or None


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> Iterator[bytes]:
    file = archive.extractfile(member)
    while file and (chunk := file.read(_CHUNK)):
        yield chunk


def _digested(chunks: Iterator[bytes], update: Callable[[bytes], None]) -> Iterator[bytes]:
    for chunk in chunks:
        update(chunk)
        yield chunk


class _Copy:
    """Files laid into a new folder, below folders that were made here and nowhere else."""

    def __init__(self, root: Path) -> None:
        root.mkdir(parents=True)
        self._root = root
        self._made = {""}

    def folder(self, path: str) -> None:
        place = self._place(path)
        self._made.add(path)
        if place:
            place.mkdir()

    def link(self, path: str, target: str) -> None:
        place = self._place(path)
        if place:
            place.symlink_to(target)

    def file(self, path: str, chunks: Iterable[bytes], mode: int) -> None:
        place = self._place(path)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        if place is None:
            for _ in chunks:  # they are digested on their way
                continue
            return
        with open(os.open(place, flags, 0o600), "wb") as file:  # noqa: PTH123 - exact flags
            file.writelines(chunks)
            os.fchmod(file.fileno(), mode & 0o777 | 0o400)

    def same(self, path: str, first: str, entry: TreeEntry) -> None:
        """Copy a file that came before; its place is one that we wrote."""
        if entry.mode == LINK:
            self.link(path, os.readlink(self._root / first))  # noqa: PTH115 - a Path would tidy the target
        elif entry.mode.startswith("100"):
            with (self._root / first).open("rb") as file:
                self.file(path, iter(lambda: file.read(_CHUNK), b""), entry.permissions)

    def leave_out(self, name: str) -> None:
        location = self._root / name
        if location.is_dir() and not location.is_symlink():
            remove_tree(location)
        else:
            location.unlink(missing_ok=True)

    def _place(self, path: str) -> Path | None:
        """Return where a path is laid; None where no path could name it."""
        if path.rpartition("/")[0] not in self._made:
            raise _refused(f"{path} lies in no folder of the archive")
        place = self._root / path
        return place if fits(os.fspath(place)) else None


def _refused(found: str) -> OutsideError:
    return OutsideError(
        "docker",
        "archive of a folder",
        found=found,
        allowed="files, folders and links below the folder",
        next_step="report it: the engine's archive can't be trusted",
    )
