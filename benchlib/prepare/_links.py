"""Where the links of a tree lead, without asking the file system.

A link is followed the way a kernel would, but only inside the tree; at most 40 links
in a row, so that a loop ends.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Literal

MOST_HOPS = 40
"""As Linux: more links in a row are taken for a loop."""

End = Literal["file", "folder", "missing", "loop", "absolute", "outside"]


@dataclass(frozen=True)
class Trail:
    """What following a link passes through, and where it ends."""

    links: tuple[str, ...]  # other links on the way, in order
    last: str  # the path where it ends; for a missing target, the path that is not there
    end: End

    @property
    def arrives(self) -> bool:
        """Whether the target is in the tree."""
        return self.end in {"file", "folder"}


Look = Callable[[str], str]
"""Says what stands at a path: `file`, `folder`, `missing`, or ``->`` and a link's target."""


def follow(link: str, look: Look) -> Trail:
    """Follow one link.

    Args:
        link: Its path.
        look: Says what stands at a path of the tree.

    Returns:
        The trail.

    Example:
        >>> tree = {"a": "->docs/b", "docs": "folder", "docs/b": "->c.md", "docs/c.md": "file"}
        >>> follow("a", lambda path: tree.get(path, "missing"))
        Trail(links=('docs/b',), last='docs/c.md', end='file')
    """
    passed: list[str] = []
    here = link.split("/")
    name = here.pop()
    pending = [name]
    while pending:
        part = pending.pop()
        if part == "..":
            if not here:
                return Trail(tuple(passed[1:]), "", "outside")
            here.pop()
            continue
        path = "/".join([*here, part])
        found = look(path)
        if found.startswith(_LINK):
            target = found.removeprefix(_LINK)
            passed.append(path)
            if target.startswith("/") or len(passed) > MOST_HOPS:
                end: End = "absolute" if target.startswith("/") else "loop"
                return Trail(tuple(passed[1:]), target, end)
            pending += [one for one in reversed(target.split("/")) if one not in {"", "."}]
        elif found == "folder" or (found == "file" and not pending):
            here.append(part)
            if found == "file":
                return Trail(tuple(passed[1:]), path, "file")
        else:
            return Trail(tuple(passed[1:]), path, "missing")
    return Trail(tuple(passed[1:]), "/".join(here), "folder")


def look_among(
    targets: Mapping[str, str], files: Collection[str], folders: Collection[str]
) -> Look:
    """Look in a tree that is known by its paths."""

    def look(path: str) -> str:
        if path in targets:
            return _LINK + targets[path]
        if path in files:
            return "file"
        return "folder" if path in folders else "missing"

    return look


def look_on_disk(root: str) -> Look:
    """Look in a tree on disk, one name at a time and never through a link."""

    def look(path: str) -> str:
        location = f"{root}/{path}"
        try:
            mode = os.lstat(location).st_mode
            if stat.S_ISLNK(mode):
                return _LINK + os.readlink(location)  # noqa: PTH115 - text in, text out
        except OSError:
            return "missing"
        return "folder" if stat.S_ISDIR(mode) else "file"

    return look


_LINK = "->"
