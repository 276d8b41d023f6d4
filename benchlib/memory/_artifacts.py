"""A fixture's files on their way to a provisioner: private read-only copies, and nothing else.

A file is opened once; that it lies below the root is asked of the open descriptor, and the
bytes that are hashed are the bytes that are copied. So nothing can be exchanged between
the look and the use.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from benchlib.contracts.fixture import Artifact

_CHUNK = 1024 * 1024
_SUFFIX = re.compile(r"\.[a-z0-9]{1,8}")


class ArtifactError(Exception):
    """A file is not the one that the fixture pins."""

    def __init__(self, reason: str, detail: str) -> None:
        self.reason = reason
        self.detail = detail
        super().__init__(f"{reason}: {detail}")


def copy_artifact(artifact: Artifact, root: Path, folder: Path, name: str) -> Artifact:
    """Copy one file, read-only, and check what was copied.

    Args:
        artifact: The file as the fixture pins it.
        root: The fixture root.
        folder: Where the copy goes.
        name: The copy's name; it keeps a plain ending of the file.

    Returns:
        The copy, its path relative to the folder's parent.

    Raises:
        ArtifactError: It lies outside, is not there, or has other bytes.
    """
    suffix = PurePosixPath(artifact.path).suffix
    copy = folder / (name + suffix if _SUFFIX.fullmatch(suffix) else name)
    with _opened(artifact, root) as source, copy.open("xb") as destination:
        _pass_on(artifact, source, destination.write)
        os.fchmod(destination.fileno(), 0o444)
    return artifact.model_copy(update={"path": f"{folder.name}/{copy.name}"})


def check_artifact(artifact: Artifact, root: Path) -> None:
    """Hash a file again.

    Raises:
        ArtifactError: It is no longer what it was.
    """
    with _opened(artifact, root) as source:
        _pass_on(artifact, source, len)


@contextmanager
def _opened(artifact: Artifact, root: Path) -> Iterator[int]:
    try:  # non-blocking: a FIFO would keep us waiting for its writer
        descriptor = os.open(root / artifact.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise ArtifactError("artifact-missing", f"{artifact.path}: {error.strerror}") from error
    try:
        real = Path(f"/proc/self/fd/{descriptor}").readlink()
        if not real.is_relative_to(root.resolve()):
            raise ArtifactError("artifact-escapes-root", f"{artifact.path} leads out of the root")
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ArtifactError("artifact-missing", f"{artifact.path} is no regular file")
        yield descriptor
    finally:
        os.close(descriptor)


def _pass_on(artifact: Artifact, source: int, take: Callable[[bytes], object]) -> None:
    """Hand over a file's bytes and check them; a longer file is not read to its end."""
    digest, size = hashlib.sha256(), 0
    while size <= artifact.bytes and (chunk := os.read(source, _CHUNK)):
        digest.update(chunk)
        size += len(chunk)
        take(chunk)
    if (size, digest.hexdigest()) != (artifact.bytes, artifact.sha256):
        raise ArtifactError(
            "artifact-digest-mismatch",
            f"{artifact.path} is not {artifact.bytes} bytes of SHA-256 {artifact.sha256[:12]}…",
        )
