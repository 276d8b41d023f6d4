"""Blobs from a Git object store to files, at the speed of `git archive | tar -x`.

One `git cat-file --batch --buffer` is fed from a file and read from a pipe. Files are
created exclusively and links last, so that nothing is ever written through a link.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import tempfile
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple, Self

from benchlib.contracts.tree import EXECUTABLE, LINK, TreeEntry, laid_permissions
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

LARGEST_IN_ONE_BYTES = 1 << 20
"""A larger blob is copied in parts, so that memory does not grow with it."""

_PIPE_BYTES = 1 << 20
_BATCH_BYTES = 1 << 20
_MOST_BATCHES = 4
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
        self.entries: list[TreeEntry] = []  # in the order of their paths' bytes
        self.targets: dict[str, str] = {}  # of links
        self.lfs_pointers: set[str] = set()
        self.refusals: list[Refusal] = []
        self._root = str(root)
        self._declared = declared_pointers
        self._folders = {""}
        self._must_chmod = _umask_interferes(root)

    def write(self, blobs: BlobStream, listed: list[Listed], *, leave_out: set[str]) -> None:
        """Write every entry; what can't be written is added to the refusals.

        Args:
            blobs: The contents of these very entries.
            listed: Files and links in the order of their paths' bytes.
            leave_out: Paths that may not be written; their contents are looked at all the same.

        Raises:
            InputError: The object store is damaged.
            OSError: The disk failed.
        """
        with Digester(self.entries) as digester:
            for entry in listed:
                try:
                    self._take(blobs, entry, digester, is_written=entry.path not in leave_out)
                except DamagedError as error:
                    raise blobs.damaged(entry) from error
        self.entries.sort(key=lambda entry: os.fsencode(entry.path))
        self._make_links()

    def _take(
        self, blobs: BlobStream, entry: Listed, digester: Digester, *, is_written: bool
    ) -> None:
        size = blobs.next_size()
        if size is None:
            self._refuse_missing(entry)
        elif size > LARGEST_IN_ONE_BYTES:
            self._copy(blobs, size, entry, is_written=is_written)
        elif entry.mode == LINK:
            self._keep_link(entry, bytes(blobs.content(size)), is_written=is_written)
        else:
            content = blobs.content(size)
            if size <= LFS_LARGEST_BYTES and is_lfs_pointer(bytes(content)):
                self._see_pointer(entry)
            if is_written:
                self._write(entry, content)
                digester.add(entry, content)

    def _write(self, entry: Listed, content: memoryview) -> None:
        handle = self._create(entry)
        try:
            _write_all(handle, content)
        finally:
            os.close(handle)

    def _copy(self, blobs: BlobStream, size: int, entry: Listed, *, is_written: bool) -> None:
        """Copy a large blob in parts; one that is not written is read all the same."""
        if entry.mode == LINK:
            self._refuse_target(entry, f"a link target of {size} bytes")
            is_written = False
        digest = hashlib.sha256()
        handle = self._create(entry) if is_written else os.open(os.devnull, os.O_WRONLY)
        try:
            for chunk in blobs.chunks(size):
                _write_all(handle, chunk)
                digest.update(chunk)
        finally:
            os.close(handle)
        self.entries.append(_tree_entry(entry, size, digest.hexdigest()))

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

    def _keep_link(self, entry: Listed, content: bytes, *, is_written: bool) -> None:
        fault = _target_fault(content)
        if fault:
            self._refuse_target(entry, fault)
        elif is_written:
            self.targets[entry.path] = content.decode()
            digest = hashlib.sha256(content).hexdigest()
            self.entries.append(_tree_entry(entry, len(content), digest))

    def _refuse_target(self, entry: Listed, fault: str) -> None:
        self.refusals.append(
            Refusal(
                entry.path,
                fault,
                "a link target of 1 to 4095 bytes of UTF-8",
                "correct the link in the project, or pin a commit without it",
            )
        )

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


class DamagedError(Exception):
    """Git stopped in the middle."""


class BlobStream:
    """What `git cat-file --batch` prints: a head per object, its content, a newline.

    Args:
        store: The objects.
        listed: Whose contents are wanted, in this order.
    """

    def __init__(self, store: ObjectStore, listed: list[Listed]) -> None:
        with tempfile.TemporaryFile() as wanted:
            wanted.write("".join(f"{entry.object_id}\n" for entry in listed).encode())
            wanted.seek(0)
            self._process = store.start("cat-file", "--batch", "--buffer", stdin=wanted)
        if self._process.stdout is None:
            msg = "a process that was started with a pipe has none"
            raise AssertionError(msg)
        self._handle = self._process.stdout.fileno()
        fcntl.fcntl(self._handle, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        self._buffer = b""
        self._at = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()  # it has ended by now, unless something went wrong
        with self._process:
            pass

    def damaged(self, entry: Listed) -> InputError:
        """Return the error for an object in which Git stopped."""
        said = self._process.stderr.read() if self._process.stderr else b""
        return InputError(
            f"object {entry.object_id}",
            entry.path,
            found=last_line(said),
            allowed="an object that Git can read",
            next_step="run `git fsck` in the repository, or fetch the commit again",
        )

    def next_size(self) -> int | None:
        """Read the next head: the object's size, or None if the store does not hold it."""
        while (end := self._buffer.find(b"\n", self._at)) < 0:
            self._fill()
        head = self._buffer[self._at : end]
        self._at = end + 1
        if head.endswith(b" missing"):
            return None
        return int(head[head.rindex(b" ") :])

    def content(self, size: int) -> memoryview:
        """Return a small object's content; nothing is copied."""
        while len(self._buffer) - self._at <= size:
            self._fill()
        start = self._at
        self._at += size + 1
        return memoryview(self._buffer)[start : start + size]

    def chunks(self, size: int) -> Iterator[memoryview]:
        """Yield a large object's content in parts."""
        while size:
            if self._at == len(self._buffer):
                self._fill()
            part = memoryview(self._buffer)[self._at : self._at + size]
            self._at += len(part)
            size -= len(part)
            yield part
        self.content(0)

    def _fill(self) -> None:
        more = os.read(self._handle, _PIPE_BYTES)
        if not more:
            raise DamagedError
        self._buffer = self._buffer[self._at :] + more
        self._at = 0


class Digester:
    """Digests contents on a second thread while the first one waits for the disk.

    Args:
        entries: Where the finished entries go.
    """

    def __init__(self, entries: list[TreeEntry]) -> None:
        self._entries = entries
        self._pool = ThreadPoolExecutor(1)
        self._batch: list[tuple[Listed, memoryview]] = []
        self._batch_bytes = 0
        self._running: deque[Future[list[TreeEntry]]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._hand_over()
        while self._running:
            self._take()
        self._pool.shutdown()

    def add(self, entry: Listed, content: memoryview) -> None:
        """Digest one content, soon."""
        self._batch.append((entry, content))
        self._batch_bytes += len(content)
        if self._batch_bytes >= _BATCH_BYTES:
            self._hand_over()
            if len(self._running) > _MOST_BATCHES:
                self._take()

    def _hand_over(self) -> None:
        self._running.append(self._pool.submit(_digest_all, self._batch))
        self._batch, self._batch_bytes = [], 0

    def _take(self) -> None:
        self._entries += self._running.popleft().result()


def _digest_all(batch: list[tuple[Listed, memoryview]]) -> list[TreeEntry]:
    return [
        _tree_entry(entry, len(content), hashlib.sha256(content).hexdigest())
        for entry, content in batch
    ]


def _tree_entry(entry: Listed, size: int, sha256: str) -> TreeEntry:
    return TreeEntry(entry.path, entry.mode, size, sha256, laid_permissions(entry.mode))


def _write_all(handle: int, content: memoryview) -> None:
    written = os.write(handle, content)
    while written < len(content):  # a disk that is nearly full takes less at first
        written += os.write(handle, content[written:])


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
