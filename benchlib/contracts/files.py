"""Writing: whole or not at all.

A file appears under its name only when all its bytes are on disk, so a crash or
a full disk leaves either the old file or none.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from benchlib.errors import InWords, OutsideError


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file and make it durable before it gets its name.

    Args:
        path: Where it belongs; its folder is made if need be.
        data: All of it.

    Raises:
        OutsideError: The disk is full or the folder can't be written; nothing is left behind.
    """
    scratch = None
    try:
        _make_folders(path.parent)
        handle, scratch = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(scratch, 0o644)  # noqa: PTH101 - mkstemp gives a name, not a Path
        os.replace(scratch, path)  # noqa: PTH105
        scratch = None
        sync_folder(path.parent)
    except OSError as error:
        raise OutsideError(
            str(path),
            found=InWords(error.strerror or str(error)),
            allowed="a folder with room that can be written",
            next_step="free space or choose another --output",
        ) from error
    finally:
        if scratch is not None:
            Path(scratch).unlink(missing_ok=True)


def _make_folders(folder: Path) -> None:
    """Make a folder and those above it; each new name is durable before anything lies below."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for one in reversed(missing):
        sync_folder(one.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
