"""Blobs from a Git object store to files, at the speed of `git archive | tar -x`.

One `git cat-file --batch --buffer` is fed from a file and read from a pipe. Files are
created exclusively and links last, so that nothing is ever written through a link.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import tempfile
from pathlib import Path
from typing import IO, NamedTuple

from benchlib.contracts.tree import EXECUTABLE, LINK, TreeEntry
from benchlib.errors import InputError
from benchlib.prepare._git import ObjectStore, last_line
from benchlib.prepare._listing import Listed

LFS_FIRST_LINES = tuple(
    b"version " + address + b"\n"
    for address in (
        b"https://git-lfs.github.com/spec/v1",
        b"https://hawser.github.com/spec/v1",
        b"http://git-media.io/v/2",
    )
)
"""What a pointer file begins with: the address of today and the two that its reader still takes."""

LFS_LARGEST_BYTES = 1023
"""The format's own bound: a pointer file is smaller than 1024 bytes."""

_CHUNK = 1 << 20
_PIPE_BYTES = 1 << 20
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Refusal(NamedTuple):
    """One entry that keeps a commit from becoming a tree."""

    path: str
    found: str
    allowed: str
    next_step: str


def is_lfs_pointer(content: bytes) -> bool:
    """Tell a pointer from a text about pointers: by its first line and its size."""
    return len(content) <= LFS_LARGEST_BYTES and content.startswith(LFS_FIRST_LINES)


class TreeWriter:
    """Writes listed blobs below a folder, and keeps what was learnt on the way.

    Args:
        root: A new folder.
        declared_pointers: Paths of LFS pointers that may stay pointers.
    """

    def __init__(self, root: Path, declared_pointers: frozenset[str]) -> None:
        self.entries: list[TreeEntry] = []
        self.targets: dict[str, str] = {}  # of links
        self.lfs_pointers: set[str] = set()
        self.refusals: list[Refusal] = []
        self._root = str(root)
        self._declared = declared_pointers
        self._folders = {""}
        self._must_chmod = _umask_interferes(root)

    def write(self, store: ObjectStore, listed: list[Listed]) -> None:
        """Write every entry; what can't be written is added to the refusals.

        Args:
            store: The objects.
            listed: Files and links in the order of their paths' bytes, with portable names.

        Raises:
            InputError: The object store is damaged.
            OSError: The disk failed.
        """
        with tempfile.TemporaryFile() as wanted:
            wanted.write("".join(f"{entry.object_id}\n" for entry in listed).encode())
            wanted.seek(0)
            process = store.start("cat-file", "--batch", "--buffer", stdin=wanted)
        with process:
            if process.stdout is None or process.stderr is None:
                msg = "a process that was started with pipes has none"
                raise AssertionError(msg)
            fcntl.fcntl(process.stdout.fileno(), fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
            try:
                for entry in listed:
                    self._write_one(process.stdout, entry)
            except _DamagedError as error:
                process.kill()
                raise _damaged(process, error.entry) from error
        self._make_links()

    def _write_one(self, stream: IO[bytes], entry: Listed) -> None:
        head = stream.readline()
        if head.endswith(b" missing\n"):
            self._refuse_missing(entry)
            return
        if not head.endswith(b"\n"):
            raise _DamagedError(entry)
        size = int(head[head.rindex(b" ") :])
        if entry.mode == LINK:
            self._keep_link(entry, _exactly(stream, size, entry))
        elif size > _CHUNK:
            self._copy(stream, size, entry)
        else:
            self._write_small(entry, _exactly(stream, size, entry))
        stream.read(1)

    def _write_small(self, entry: Listed, content: bytes) -> None:
        if content.startswith(b"version ") and is_lfs_pointer(content):
            self._see_pointer(entry)
        handle = self._create(entry)
        try:
            if content:
                os.write(handle, content)
        finally:
            os.close(handle)
        self._add(entry, len(content), hashlib.sha256(content).hexdigest())

    def _copy(self, stream: IO[bytes], size: int, entry: Listed) -> None:
        digest = hashlib.sha256()
        with os.fdopen(self._create(entry), "wb", buffering=0) as file:
            left = size
            while left:
                chunk = _exactly(stream, min(left, _CHUNK), entry)
                file.write(chunk)
                digest.update(chunk)
                left -= len(chunk)
        self._add(entry, size, digest.hexdigest())

    def _create(self, entry: Listed) -> int:
        folder = entry.path.rpartition("/")[0]
        if folder not in self._folders:
            self._make_folder(folder)
        permissions = 0o755 if entry.mode == EXECUTABLE else 0o644
        handle = os.open(f"{self._root}/{entry.path}", _CREATE, permissions)
        if self._must_chmod:
            os.fchmod(handle, permissions)
        return handle

    def _make_folder(self, folder: str) -> None:
        parent = folder.rpartition("/")[0]
        if parent not in self._folders:
            self._make_folder(parent)
        location = f"{self._root}/{folder}"
        os.mkdir(location, 0o755)  # noqa: PTH102 - one call per folder, in the hot loop
        if self._must_chmod:
            os.chmod(location, 0o755)  # noqa: PTH101, S103 - as above; agents read it
        self._folders.add(folder)

    def _add(self, entry: Listed, size: int, sha256: str) -> None:
        permissions = 0o755 if entry.mode == EXECUTABLE else 0o644
        self.entries.append(TreeEntry(entry.path, entry.mode, size, sha256, permissions))

    def _keep_link(self, entry: Listed, content: bytes) -> None:
        fault = _target_fault(content)
        if fault:
            self.refusals.append(
                Refusal(
                    entry.path,
                    fault,
                    "a link target of 1 to 4095 bytes of UTF-8",
                    "correct the link in the project, or pin a commit without it",
                )
            )
            return
        self.targets[entry.path] = content.decode()
        digest = hashlib.sha256(content).hexdigest()
        self.entries.append(TreeEntry(entry.path, LINK, len(content), digest, 0o777))

    def _make_links(self) -> None:
        """Make the links once no file is left to write."""
        for path, target in self.targets.items():
            folder = path.rpartition("/")[0]
            if folder not in self._folders:
                self._make_folder(folder)
            os.symlink(target, f"{self._root}/{path}")  # noqa: PTH211 - text in, text out

    def _see_pointer(self, entry: Listed) -> None:
        self.lfs_pointers.add(entry.path)
        if entry.path not in self._declared:
            self.refusals.append(
                Refusal(
                    entry.path,
                    "a Git LFS pointer instead of the file",
                    "file contents; a pointer only if it is declared, and then it stays a pointer",
                    "add its path to declarations.lfs_pointers if no task needs the file",
                )
            )

    def _refuse_missing(self, entry: Listed) -> None:
        self.refusals.append(
            Refusal(
                entry.path,
                f"object {entry.object_id}: missing",
                "a commit whose objects are all in the repository",
                "fetch the commit in full: the repository is a partial clone or trimmed",
            )
        )


class _DamagedError(Exception):
    """Git stopped in the middle of an object."""

    def __init__(self, entry: Listed) -> None:
        self.entry = entry
        super().__init__(entry.path)


def _exactly(stream: IO[bytes], size: int, entry: Listed) -> bytes:
    content = stream.read(size)
    if len(content) != size:
        raise _DamagedError(entry)
    return content


def _damaged(process: subprocess.Popen[bytes], entry: Listed) -> InputError:
    said = process.stderr.read() if process.stderr else b""
    return InputError(
        f"object {entry.object_id}",
        entry.path,
        found=last_line(said),
        allowed="an object that Git can read",
        next_step="run `git fsck` in the repository, or fetch the commit again",
    )


def _target_fault(content: bytes) -> str | None:
    if not 0 < len(content) < 4096 or b"\0" in content:
        return f"a link target of {len(content)} bytes" + (", with a NUL" * (b"\0" in content))
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return "a link target that is not UTF-8"
    return None


def _umask_interferes(root: Path) -> bool:
    """Try once whether this process' umask leaves 755 alone; asking for it would change it."""
    probe = root / ".probe"
    os.close(os.open(probe, _CREATE, 0o755))
    interferes = (probe.stat().st_mode & 0o777) != 0o755
    probe.unlink()
    return interferes
