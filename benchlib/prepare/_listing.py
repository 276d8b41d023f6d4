"""What a commit lists: its entries by name, before any content is read."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import NamedTuple

from benchlib.errors import InputError, InWords
from benchlib.prepare._git import ObjectStore, last_line


class Listed(NamedTuple):
    """One entry as the tree object names it."""

    path: str
    mode: str  # 100644, 100755, 120000 or 160000
    object_id: str


@dataclass(frozen=True)
class Listing:
    """A commit's tree."""

    git_tree: str
    entries: tuple[Listed, ...]  # in the order of their paths' bytes


def list_commit(store: ObjectStore, commit: str, place: str) -> Listing:
    """Read the names that a commit holds.

    Args:
        store: The objects.
        commit: The pinned id.
        place: The corpus' location, for messages.

    Returns:
        The listing.

    Raises:
        InputError: The commit, or one of its tree objects, is not in the store.
    """
    asked = f"{commit}\n{commit}^{{tree}}\n".encode()
    answer = store.run("cat-file", "--batch-check", stdin=asked).stdout.decode().splitlines()
    kinds = [line.split(" ") for line in answer]
    if len(kinds) != 2 or kinds[0][1:2] != ["commit"] or kinds[1][1:2] != ["tree"]:
        found = " ".join(kinds[0][1:2]) if kinds else "no answer from git"
        raise InputError(
            place,
            "commit",
            found=InWords(f"{commit}: {found}"),
            allowed="a commit whose objects are in the repository",
            next_step=f"fetch {commit}, or pin another commit",
        )
    git_tree = kinds[1][0]
    done = store.run("ls-tree", "-r", "-t", "-z", "--full-tree", git_tree)
    if done.returncode != 0:
        raise _missing_tree(done.stdout, done.stderr, place)
    entries = tuple(entry for entry in _entries(done.stdout) if entry.mode != _FOLDER)
    return Listing(git_tree, entries)


_FOLDER = "040000"


def _entries(raw: bytes) -> list[Listed]:
    """Read `MODE TYPE ID<tab>PATH`, each ended by a NUL."""
    records = [record.partition("\t") for record in os.fsdecode(raw).split("\0")[:-1]]
    return [Listed(path, head[:6], head[head.rindex(" ") + 1 :]) for head, _, path in records]


def _missing_tree(listed: bytes, stderr: bytes, place: str) -> InputError:
    """Name the folder whose tree object is not there: it was listed before it was looked up."""
    ids = re.findall(r"\b[0-9a-f]{40,64}\b", stderr.decode("utf-8", "replace"))
    paths = {entry.object_id: entry.path for entry in _entries(listed)}
    named = next((one for one in ids if one in paths), None)
    return InputError(
        place,
        paths[named] if named else "",
        found=f"tree object {named}: missing" if named else last_line(stderr),
        allowed="a commit whose objects are all in the repository",
        next_step="fetch the commit in full: the repository is a partial clone or damaged",
    )
