"""A sealed workspace laid out on disk: files as every arm gets them, and their repository."""

from __future__ import annotations

import os
from pathlib import Path

from benchlib.contracts.boundaries import SealedWorkspace
from benchlib.contracts.tree import EXECUTABLE, LINK, REGULAR
from benchlib.errors import InputError, InWords
from benchlib.sandbox._files import copy_entries
from benchlib.sandbox._places import FIXED_TIME, as_laid
from benchlib.sandbox._repository import write_repository


def lay_out(sealed: SealedWorkspace, destination: Path) -> None:
    """Write the workspace that every arm begins with into a new folder.

    Raises:
        InputError: The tree holds what can't be laid: a special file, a `.git`.
        DriftError: A file is not the one that was sealed.
    """
    refuse_unlayable(sealed)
    copy_entries(tuple(map(as_laid, sealed.entries)), destination, {}, unchanged=sealed.root)
    write_repository(destination / ".git", destination, sealed.entries)
    for parent, folders, files in os.walk(destination):
        for name in (*folders, *files):
            os.utime(f"{parent}/{name}", (FIXED_TIME, FIXED_TIME), follow_symlinks=False)
    # Newer than the files it lists, else Git would read them again to be sure.
    os.utime(destination / ".git" / "index", (FIXED_TIME + 1, FIXED_TIME + 1))


def refuse_unlayable(sealed: SealedWorkspace) -> None:
    """Refuse a tree that no arm can be given."""
    for entry in sealed.entries:
        if entry.path.split("/", 1)[0] == ".git":
            raise InputError(
                entry.path,
                found=InWords("a .git in the sealed tree"),
                allowed="a tree without Git data; each arm gets a repository of its own",
                next_step="build the tree from Git objects",
            )
        if entry.mode not in {REGULAR, EXECUTABLE, LINK, "folder"}:
            raise InputError(
                entry.path,
                found=entry.mode,
                allowed="files, links and empty folders",
                next_step="remove it from the tree, or from what the prebuild leaves behind",
            )
