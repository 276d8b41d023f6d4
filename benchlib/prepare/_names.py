"""Names of a commit's tree that can't be written, and a fast way to see that there are none."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator

from benchlib.contracts.paths import collisions, folded, path_fault

# A component that no rule of `path_fault` can object to: ordinary characters only, at most
# 100 of them, no dot or blank at the end, no reserved name before the first dot.
_ORDINARY = (
    r"(?!(?:con|prn|aux|nul|com\d|lpt\d)(?:[./]|$))(?!(?:\.git|git~1)(?:/|$))"
    r"[\w.+@=,#()\[\]~!-]{0,99}[\w+@=,#()\[\]~!-]"
)
_ORDINARY_PATH = re.compile(
    rf"{_ORDINARY}(?:/{_ORDINARY}){{0,30}}", re.ASCII | re.IGNORECASE
).fullmatch


def name_faults(paths: Collection[str]) -> Iterator[tuple[str, str]]:
    """Find every path that can't stand in a portable tree.

    Args:
        paths: The tree's paths; bytes that are no UTF-8 stand as surrogate escapes.

    Yields:
        Path and rule that it breaks, each path once, in the order given.
    """
    clashes = _clashes(paths)
    for path in paths:
        fault = clashes.get(path)
        if fault is None and not _ORDINARY_PATH(path):
            fault = path_fault(path) or _git_component(path)
        if fault is not None:
            yield path, fault


def _git_component(path: str) -> str | None:
    """Git itself refuses such an entry, but a tree object may be made by hand."""
    parts = folded(path).split("/")
    return "a .git component" if ".git" in parts or "git~1" in parts else None


def _clashes(paths: Collection[str]) -> dict[str, str]:
    """Find paths that one file system keeps apart and another does not, or none can."""
    folders = folders_of(paths)
    names = set(paths) | folders
    both = dict.fromkeys(folders & set(paths), "a file where another path needs a folder")
    if len(set(paths)) != len(paths):
        counts = Counter(paths)
        both |= {path: "a name that stands twice" for path, count in counts.items() if count > 1}
    joined = folded("\n".join(names))
    if len(set(joined.split("\n"))) == len(names):  # one call for all: the ordinary case
        return both
    return both | {
        path: f"equal to {other!a} where case or composition of characters is not kept"
        for clash, other in map(_the_odd_one_first, collisions(paths))
        for path in _at_or_below(paths, clash)
    }


def _the_odd_one_first(pair: tuple[str, str]) -> tuple[str, str]:
    """Blame the spelling that is not composed; else the later one, as the pair says."""
    later, earlier = pair
    if unicodedata.is_normalized("NFC", later) and not unicodedata.is_normalized("NFC", earlier):
        return earlier, later
    return pair


def _at_or_below(paths: Collection[str], name: str) -> list[str]:
    return [path for path in paths if path == name or path.startswith(name + "/")]


def folders_of(paths: Collection[str]) -> set[str]:
    """Return every folder that these paths need, without the root."""
    folders: set[str] = set()
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    return folders
