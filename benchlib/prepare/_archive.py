"""A release archive, pinned by digest, becomes Git objects; from there it is a commit like any.

The same archive gives the same commit id on every machine: author, date and message
are fixed, a single top folder is stripped, order and times in the archive mean nothing.

Refused, all of it in one report: names that leave the tree or clash, links that leave
it, devices and other special members, encrypted members, and archives that unpack to
more than `ArchiveLimits` allows. Nothing is ever unpacked to the file system.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import hashlib
import lzma
import stat
import subprocess
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Literal, cast

from benchlib.contracts.tree import EXECUTABLE, LINK, REGULAR
from benchlib.errors import DriftError, InputError, OutsideError
from benchlib.prepare._git import ObjectStore, empty_repository, last_line
from benchlib.prepare._links import follow, look_among
from benchlib.prepare._names import folders_of

_CHUNK = 1 << 20
_MIB = 1 << 20
_SIGNATURE = b"release archive <archive@example.invalid> 0 +0000"
_REF = "refs/heads/release"


@dataclass(frozen=True)
class ArchiveLimits:
    """What an archive may unpack to; far above any release, far below a full disk."""

    members: int = 500_000
    file_bytes: int = 2048 * _MIB
    total_bytes: int = 8192 * _MIB
    ratio: int = 200  # of unpacked to packed bytes, once more than `free_bytes` are unpacked
    free_bytes: int = 256 * _MIB
    header_bytes: int = 16 * _MIB  # that one read of the tar reader may ask for


@dataclass(frozen=True)
class _Member:
    name: str
    kind: Literal["file", "link", "hard-link", "other"]
    what: str  # the kind in words, for a refusal
    executable: bool
    size: int
    target: str  # of a link
    content: Callable[[], IO[bytes]]


def import_archive(
    path: Path, *, sha256: str, repository: Path, limits: ArchiveLimits | None = None
) -> tuple[ObjectStore, str]:
    """Import an archive into a new bare repository.

    Args:
        path: A tar (plain, gz, bz2, xz) or zip; its kind is told from its first bytes.
        sha256: The digest that was pinned.
        repository: Where the repository is made.
        limits: What it may unpack to.

    Returns:
        The objects, and the id of the one commit.

    Raises:
        DriftError: The archive is not the one that was pinned.
        InputError: It can't be read, or holds what no tree may hold; all of it at once.
        OutsideError: Git failed.
    """
    store = ObjectStore(empty_repository(repository), repository / "objects")
    with _pinned(path, sha256) as file:
        importer = _Importer(path.name, limits or ArchiveLimits(), path.stat().st_size)
        with _unreadable_is_an_input_error(path):
            commit = importer.run(store, _members(file, importer.limits), sha256)
    return store, commit


@contextlib.contextmanager
def _pinned(path: Path, sha256: str) -> Iterator[IO[bytes]]:
    """Open an archive whose bytes are the pinned ones; they are read from that very handle."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise InputError(
            str(path),
            found=error.strerror or str(error),
            allowed="a release archive that can be read",
            next_step="put the archive there, or correct corpus.location",
        ) from error
    with file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != sha256:
            raise DriftError(
                str(path),
                "sha256",
                found=found,
                allowed=sha256,
                next_step="get the pinned archive, or pin this one",
            )
        file.seek(0)
        yield file


@contextlib.contextmanager
def _unreadable_is_an_input_error(path: Path) -> Iterator[None]:
    broken = (
        tarfile.TarError,
        zipfile.BadZipFile,
        zlib.error,
        lzma.LZMAError,
        EOFError,
        gzip.BadGzipFile,
        NotImplementedError,  # zipfile: a compression method that it does not know
        RuntimeError,  # zipfile: encrypted
        ValueError,
        OSError,
    )
    try:
        yield
    except (InputError, OutsideError):
        raise
    except broken as error:
        raise InputError(
            str(path),
            found=str(error) or type(error).__name__,
            allowed="a whole tar (gz, bz2, xz) or zip",
            next_step="fetch the archive again",
        ) from error


class _LimitedReader:
    """A decompressed stream that refuses to be asked for more than a header may need."""

    def __init__(self, stream: IO[bytes], most: int) -> None:
        self._stream = stream
        self._most = most

    def read(self, size: int = -1) -> bytes:
        if size < 0 or size > self._most:
            msg = f"a header of {size} bytes"
            raise tarfile.ReadError(msg)
        return self._stream.read(size)

    def seek(self, position: int, whence: int = 0) -> int:
        return self._stream.seek(position, whence)

    def tell(self) -> int:
        return self._stream.tell()


_DECOMPRESSORS: dict[bytes, Callable[[IO[bytes]], IO[bytes]]] = {
    b"\x1f\x8b": lambda file: cast("IO[bytes]", gzip.GzipFile(fileobj=file)),
    b"BZh": lambda file: cast("IO[bytes]", bz2.BZ2File(file)),
    b"\xfd7zXZ\x00": lambda file: cast("IO[bytes]", lzma.LZMAFile(file)),  # noqa: SIM115 - closed with its file
}


def _members(file: IO[bytes], limits: ArchiveLimits) -> Iterator[_Member]:
    head = file.read(6)
    file.seek(0)
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        with zipfile.ZipFile(file) as archive:
            yield from (_zip_member(archive, one) for one in archive.infolist() if not one.is_dir())
        return
    packed = [opened for magic, opened in _DECOMPRESSORS.items() if head.startswith(magic)]
    stream = packed[0](file) if packed else file
    reader = cast("IO[bytes]", _LimitedReader(stream, limits.header_bytes))
    with tarfile.open(fileobj=reader, mode="r:", encoding="utf-8") as tar:
        for member in tar:
            if not member.isdir():
                yield _tar_member(tar, member)
    _read_to_the_end(stream, limits)


def _read_to_the_end(stream: IO[bytes], limits: ArchiveLimits) -> None:
    """Read what follows the last member: only at its end does a stream check its own sum."""
    left = limits.free_bytes
    while left > 0 and (chunk := stream.read(_CHUNK)):
        left -= len(chunk)
    if left <= 0:
        msg = f"more than {limits.free_bytes} bytes after the last member"
        raise tarfile.ReadError(msg)


def _tar_member(tar: tarfile.TarFile, member: tarfile.TarInfo) -> _Member:
    kind: Literal["file", "link", "hard-link", "other"] = "other"
    if member.isreg() and not member.issparse():
        kind = "file"
    elif member.issym():
        kind = "link"
    elif member.islnk():
        kind = "hard-link"
    words = {"chr": "a device", "blk": "a device", "fifo": "a FIFO"}
    types = {tarfile.CHRTYPE: "chr", tarfile.BLKTYPE: "blk", tarfile.FIFOTYPE: "fifo"}
    return _Member(
        name=member.name,
        kind=kind,
        what=words.get(types.get(member.type, ""), "a member of a special type"),
        executable=bool(member.mode & 0o100),
        size=member.size,
        target=member.linkname,
        content=lambda: cast("IO[bytes]", tar.extractfile(member)),
    )


def _zip_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> _Member:
    mode = member.external_attr >> 16  # of the file, if the archive was made on a POSIX system
    kind: Literal["file", "link", "other"] = "file"
    target = ""
    if stat.S_ISLNK(mode):
        kind = "link"
        if member.file_size <= 4096:
            target = archive.read(member).decode("utf-8", "surrogateescape")
    elif stat.S_IFMT(mode) not in {0, stat.S_IFREG}:
        kind = "other"
    return _Member(
        name=member.filename,
        kind="other" if member.flag_bits & 1 else kind,
        what="an encrypted member" if member.flag_bits & 1 else "a member of a special type",
        executable=bool(mode & 0o100),
        size=member.file_size,
        target=target,
        content=lambda: archive.open(member),
    )


@dataclass
class _Importer:
    """One import: streams contents to Git, then names them in one commit."""

    place: str
    limits: ArchiveLimits
    packed_bytes: int
    total_bytes: int = 0
    marks: int = 0
    files: dict[str, tuple[str, str]] = field(default_factory=dict)  # path -> mode, mark
    targets: dict[str, str] = field(default_factory=dict)
    errors: list[InputError] = field(default_factory=list)

    def run(self, store: ObjectStore, members: Iterator[_Member], sha256: str) -> str:
        process = store.start("fast-import", "--quiet", "--done", stdin=subprocess.PIPE)
        with process:
            stream = process.stdin
            if stream is None:
                msg = "a process that was started with a pipe has none"
                raise AssertionError(msg)
            try:
                for number, member in enumerate(members, 1):
                    self._refuse_too_much(member, number)
                    self._take(member, stream)
                self._commit(stream, sha256)
                stream.close()
            except BrokenPipeError:
                process.wait()
            except BaseException:
                process.kill()
                with contextlib.suppress(OSError):
                    stream.close()  # what is still buffered has no reader any more
                raise
            said = process.stderr.read() if process.stderr else b""
            status = process.wait()
        if status != 0:
            raise OutsideError(
                "git fast-import",
                found=last_line(said),
                allowed="an import that succeeds",
                next_step="check the disk and Git's version",
            )
        return store.run("rev-parse", "--verify", _REF).stdout.decode().strip()

    def _refuse_too_much(self, member: _Member, number: int) -> None:
        """Stop at once: what an archive like this holds besides is of no interest."""
        self.total_bytes += member.size
        limits = self.limits
        fair = max(limits.free_bytes, limits.ratio * self.packed_bytes)
        broken = {
            f"more than {limits.members} members": number > limits.members,
            f"a member of {member.size} bytes": member.size > limits.file_bytes,
            f"{self.total_bytes} bytes so far": self.total_bytes > min(limits.total_bytes, fair),
        }
        for found, is_broken in broken.items():
            if is_broken:
                raise self._error(
                    member.name,
                    found,
                    f"{limits.members} members, {limits.file_bytes} bytes each, "
                    f"{min(limits.total_bytes, fair)} bytes in all",
                    "use another archive: this one unpacks like a bomb",
                )

    def _take(self, member: _Member, stream: IO[bytes]) -> None:
        path, fault = _clean_name(member.name)
        if fault is None and path in self.files:
            fault = "a name that stands twice"
        if fault is None and member.kind == "other":
            fault = member.what
        if fault is not None:
            self._refuse(member.name, fault)
        elif member.kind == "hard-link":
            self._take_hard_link(path, member)
        else:
            mode = EXECUTABLE if member.executable else REGULAR
            if member.kind == "link":
                mode, self.targets[path] = LINK, member.target
            self._add_blob(path, mode, member, stream)

    def _take_hard_link(self, path: str, member: _Member) -> None:
        original, fault = _clean_name(member.target)
        if fault is not None or original not in self.files:
            self._refuse(
                member.name, f"a hard link to {member.target!r}, which is not in the archive"
            )
            return
        self.files[path] = self.files[original]
        if original in self.targets:
            self.targets[path] = self.targets[original]

    def _add_blob(self, path: str, mode: str, member: _Member, stream: IO[bytes]) -> None:
        self.marks += 1
        self.files[path] = (mode, f":{self.marks}")
        if mode == LINK:
            target = member.target.encode("utf-8", "surrogateescape")
            stream.write(b"blob\nmark :%d\ndata %d\n%s\n" % (self.marks, len(target), target))
            return
        stream.write(b"blob\nmark :%d\ndata %d\n" % (self.marks, member.size))
        left = member.size
        with member.content() as content:
            while left:
                chunk = content.read(min(left, _CHUNK))
                if not chunk:
                    msg = f"{member.name} ends {left} bytes early"
                    raise EOFError(msg)
                stream.write(chunk)
                left -= len(chunk)
        stream.write(b"\n")

    def _commit(self, stream: IO[bytes], sha256: str) -> None:
        if not self.files and not self.errors:
            self._refuse("", "no file at all")
        self._strip_top_folder()
        self._refuse_clashes()
        self._refuse_links_out()
        if self.errors:
            self.errors[0].also = tuple(self.errors[1:])
            raise self.errors[0]
        message = f"Release archive {sha256}\n".encode()
        head = b"commit %s\nauthor %s\ncommitter %s\ndata %d\n%s\n"
        stream.write(head % (_REF.encode(), _SIGNATURE, _SIGNATURE, len(message), message))
        for path, (mode, mark) in sorted(self.files.items()):
            stream.write(f"M {mode} {mark} ".encode() + _quoted(path) + b"\n")
        stream.write(b"done\n")

    def _strip_top_folder(self) -> None:
        tops = {path.partition("/")[0] for path in self.files}
        if len(tops) == 1 and all("/" in path for path in self.files):
            self.files = {path.partition("/")[2]: one for path, one in self.files.items()}
            self.targets = {path.partition("/")[2]: one for path, one in self.targets.items()}

    def _refuse_clashes(self) -> None:
        for path in sorted(folders_of(self.files) & self.files.keys()):
            self._refuse(path, "a file where another member needs a folder")

    def _refuse_links_out(self) -> None:
        files = self.files.keys() - self.targets.keys()
        look = look_among(self.targets, files, folders_of(self.files))
        for path, target in sorted(self.targets.items()):
            end = follow(path, look).end if target else "outside"
            if end in {"absolute", "outside"}:
                self._refuse(path, f"a link out of the tree, to {target!r}")

    def _refuse(self, name: str, fault: str) -> None:
        self.errors.append(
            self._error(
                name,
                fault,
                "files and links inside the tree, each name once",
                "use another archive of the release",
            )
        )

    def _error(self, name: str, found: str, allowed: str, next_step: str) -> InputError:
        return InputError(self.place, name, found=found, allowed=allowed, next_step=next_step)


def _clean_name(name: str) -> tuple[str, str | None]:
    """Return a member's path without empty components and dots, and what is wrong with it."""
    parts = [part for part in name.split("/") if part not in {"", "."}]
    faults = {
        "an absolute path": name.startswith("/"),
        "a component '..'": ".." in parts,
        "a .git component": any(part.casefold() == ".git" for part in parts),
        "an empty path": not parts,
        "a NUL in the name": "\0" in name,
    }
    return "/".join(parts), next((fault for fault, is_so in faults.items() if is_so), None)


def _quoted(path: str) -> bytes:
    r"""Quote a path for `fast-import`: in double quotes, with ``"``, ``\`` and newline escaped."""
    raw = path.encode("utf-8", "surrogateescape")
    escapes = {b"\\": b"\\\\", b'"': b'\\"', b"\n": b"\\n"}
    for plain, escaped in escapes.items():
        raw = raw.replace(plain, escaped)
    return b'"' + raw + b'"'
