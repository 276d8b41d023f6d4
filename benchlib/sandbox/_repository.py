"""The fresh repository in every workspace: one neutral commit of the tree, written from nothing.

Equal trees give equal bytes on every machine and with every version of git or zlib,
because objects are stored in one pack without compression (RFC 1951, stored blocks).
The index agrees with the files' sizes and times, so that `git status` reads no file.
What the commit, its author and the configuration say is the same for all workspaces.
"""

from __future__ import annotations

import hashlib
import os
import struct
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from benchlib.contracts.tree import EXECUTABLE, LINK, REGULAR, TreeEntry
from benchlib.errors import DriftError
from benchlib.sandbox._places import FIXED_TIME

_PERSON = f"developer <developer@localhost> {FIXED_TIME} +0000"
_COMMIT = f"author {_PERSON}\ncommitter {_PERSON}\n\nInitial commit\n"

# Times are whole seconds in a layer and nothing else of a file's status is portable.
_CONFIGURATION = b"""[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tlogallrefupdates = true
\tcheckStat = minimal
\ttrustctime = false
[user]
\tname = developer
\temail = developer@localhost
"""

_COMMIT_TYPE, _TREE_TYPE, _BLOB_TYPE = 1, 2, 3
_TYPE_NAMES = {_COMMIT_TYPE: b"commit", _TREE_TYPE: b"tree", _BLOB_TYPE: b"blob"}
_BLOCK = 65_535  # the largest stored block
_CHUNK = 16 * _BLOCK
_LARGE_OFFSET = 0x8000_0000


class _Blob(NamedTuple):
    path: bytes
    mode: str
    sha1: bytes
    size: int


def write_repository(folder: Path, root: Path, entries: Iterable[TreeEntry]) -> None:
    """Write the `.git` folder of a workspace.

    Args:
        folder: The new folder, not there yet.
        root: Where the entries' files are.
        entries: The tree. What lies below a nested `.git` is left out of the commit.

    Raises:
        DriftError: A file is not the one that was sealed.
    """
    for name in ("objects/info", "objects/pack", "refs/heads", "refs/tags"):
        (folder / name).mkdir(parents=True)
    with (folder / "objects" / "pack" / "new.pack").open("w+b") as file:
        pack = _Pack(file)
        blobs = [pack.add_file(root, entry) for entry in _committed(entries)]
        tree = _write_trees(pack, blobs)
        commit = pack.add(_COMMIT_TYPE, b"tree " + tree.hex().encode() + b"\n" + _COMMIT.encode())
        pack.finish()
    (folder / "HEAD").write_bytes(b"ref: refs/heads/main\n")
    (folder / "config").write_bytes(_CONFIGURATION)
    (folder / "refs" / "heads" / "main").write_bytes(commit.hex().encode() + b"\n")
    (folder / "index").write_bytes(_index(blobs))


def _committed(entries: Iterable[TreeEntry]) -> list[TreeEntry]:
    kept = [
        entry
        for entry in entries
        if entry.mode in {REGULAR, EXECUTABLE, LINK} and ".git" not in entry.path.split("/")
    ]
    return sorted(kept, key=lambda entry: os.fsencode(entry.path))


class _Pack:
    """Writes a pack of stored objects, then its index (gitformat-pack, version 2)."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._path = Path(file.name)
        self._objects: dict[bytes, tuple[int, int]] = {}  # sha1: (offset, crc32)
        self._file.write(b"PACK" + struct.pack(">II", 2, 0))  # the count is set at the end

    def add(self, kind: int, content: bytes) -> bytes:
        """Add an object that is at hand; returns its id."""
        sha1 = hashlib.sha1(_TYPE_NAMES[kind] + b" %d\0" % len(content) + content).digest()  # noqa: S324 - Git's own ids
        if sha1 not in self._objects:
            self._store(sha1, kind, len(content), iter((content,)))
        return sha1

    def add_file(self, root: Path, entry: TreeEntry) -> _Blob:
        """Add a file or link, and check that it is what the entry says."""
        path, location = os.fsencode(entry.path), root / entry.path
        if entry.mode == LINK:
            content = os.fsencode(os.readlink(location))  # noqa: PTH115 - a Path would tidy it
            _check(entry, hashlib.sha256(content).hexdigest())
            return _Blob(path, entry.mode, self.add(_BLOB_TYPE, content), len(content))
        if entry.size_bytes <= _CHUNK:
            content = location.read_bytes()
            _check(entry, hashlib.sha256(content).hexdigest())
            return _Blob(path, entry.mode, self.add(_BLOB_TYPE, content), len(content))
        return _Blob(path, entry.mode, self._add_large(location, entry), entry.size_bytes)

    def _add_large(self, location: Path, entry: TreeEntry) -> bytes:
        """Read twice, so that no large file is ever held whole."""
        sha1 = hashlib.sha1(b"blob %d\0" % entry.size_bytes)  # noqa: S324 - as above
        sha256 = hashlib.sha256()
        for chunk in _chunks(location):
            sha1.update(chunk)
            sha256.update(chunk)
        _check(entry, sha256.hexdigest())
        if sha1.digest() not in self._objects:
            self._store(sha1.digest(), _BLOB_TYPE, entry.size_bytes, _chunks(location))
        return sha1.digest()

    def _store(self, sha1: bytes, kind: int, size: int, chunks: Iterator[bytes]) -> None:
        offset, crc = self._file.tell(), 0
        for part in _packed(kind, size, chunks):
            crc = zlib.crc32(part, crc)
            self._file.write(part)
        self._objects[sha1] = (offset, crc)

    def finish(self) -> None:
        """Finish the pack and write its index; both are named by the pack's digest."""
        self._file.seek(8)
        self._file.write(struct.pack(">I", len(self._objects)))
        checksum = _append_sha1(self._file)
        name = f"pack-{checksum.hex()}"
        self._path.rename(self._path.with_name(f"{name}.pack"))
        content = _pack_index(self._objects, checksum)
        self._path.with_name(f"{name}.idx").write_bytes(content)


def _check(entry: TreeEntry, sha256: str) -> None:
    if sha256 != entry.sha256:
        raise DriftError(
            entry.path,
            found=sha256,
            allowed=f"the sealed content, SHA-256 {entry.sha256}",
            next_step="prepare the workspace again; nobody may write into a sealed one",
        )


def _chunks(location: Path) -> Iterator[bytes]:
    with location.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def _packed(kind: int, size: int, chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield one pack entry: type and size, then a zlib stream of stored blocks."""
    first, rest = (kind << 4) | (size & 15), size >> 4
    header = bytearray()
    while rest:
        header.append(first | 0x80)
        first, rest = rest & 0x7F, rest >> 7
    header.append(first)
    yield bytes(header) + b"\x78\x01"
    adler, left = 1, size
    for chunk in chunks:
        adler = zlib.adler32(chunk, adler)
        for start in range(0, len(chunk), _BLOCK):
            block = chunk[start : start + _BLOCK]
            left -= len(block)
            yield struct.pack("<BHH", left == 0, len(block), len(block) ^ 0xFFFF) + block
    if size == 0:
        yield b"\x01\0\0\xff\xff"
    yield struct.pack(">I", adler)


def _append_sha1(file: BinaryIO) -> bytes:
    digest = hashlib.sha1()  # noqa: S324 - the format's own checksum
    file.seek(0)
    while chunk := file.read(_CHUNK):
        digest.update(chunk)
    file.write(digest.digest())
    return digest.digest()


def _pack_index(objects: dict[bytes, tuple[int, int]], pack_checksum: bytes) -> bytes:
    names = sorted(objects)
    counts = [0] * 256
    for name in names:
        counts[name[0]] += 1
    fan_out = [sum(counts[: first + 1]) for first in range(256)]
    large = [objects[name][0] for name in names if objects[name][0] >= _LARGE_OFFSET]
    position = {offset: _LARGE_OFFSET | number for number, offset in enumerate(large)}
    offsets = (position.get(objects[name][0], objects[name][0]) for name in names)
    content = b"".join(
        [
            b"\xfftOc" + struct.pack(">I256I", 2, *fan_out),
            *names,
            struct.pack(f">{len(names)}I", *(objects[name][1] for name in names)),
            struct.pack(f">{len(names)}I", *offsets),
            struct.pack(f">{len(large)}Q", *large),
            pack_checksum,
        ]
    )
    return content + hashlib.sha1(content).digest()  # noqa: S324 - the format's own checksum


def _write_trees(pack: _Pack, blobs: list[_Blob]) -> bytes:
    """Write a tree object per folder, deepest first; returns the root's id."""
    folders: dict[bytes, dict[bytes, tuple[bytes, bytes]]] = {b"": {}}
    for blob in blobs:
        parent, _, name = blob.path.rpartition(b"/")
        _folder(folders, parent)[name] = (blob.mode.encode(), blob.sha1)
    for path in sorted(folders, key=lambda path: -path.count(b"/") - bool(path)):
        sha1 = pack.add(_TREE_TYPE, _tree(folders[path]))
        if path:
            parent, _, name = path.rpartition(b"/")
            folders[parent][name] = (b"40000", sha1)
    return sha1


def _folder(
    folders: dict[bytes, dict[bytes, tuple[bytes, bytes]]], path: bytes
) -> dict[bytes, tuple[bytes, bytes]]:
    if path not in folders:
        folders[path] = {}
        _folder(folders, path.rpartition(b"/")[0])
    return folders[path]


def _tree(children: dict[bytes, tuple[bytes, bytes]]) -> bytes:
    """Order a folder's children as Git does: a folder as if its name ended in a slash."""

    def order(name: bytes) -> bytes:
        return name + b"/" if children[name][0] == b"40000" else name

    return b"".join(
        children[name][0] + b" " + name + b"\0" + children[name][1]
        for name in sorted(children, key=order)
    )


def _index(blobs: list[_Blob]) -> bytes:
    content = [b"DIRC" + struct.pack(">II", 2, len(blobs))]
    for blob in blobs:
        status = (FIXED_TIME, 0, FIXED_TIME, 0, 0, 0, int(blob.mode, 8), 0, 0)
        flags = min(len(blob.path), 0xFFF)
        entry = struct.pack(">9II20sH", *status, blob.size & 0xFFFF_FFFF, blob.sha1, flags)
        entry += blob.path
        content.append(entry + b"\0" * (8 - len(entry) % 8))
    joined = b"".join(content)
    return joined + hashlib.sha1(joined).digest()  # noqa: S324 - the format's own checksum
