"""Which row of the pattern list names a path."""

from __future__ import annotations

import functools
import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Literal, NamedTuple

from benchlib.contracts.paths import folded
from benchlib.errors import OutsideError
from benchlib.prepare.patterns import AUTO_LOADED

Sort = Literal["pattern", "root-case-variant", "context-below-root", "case-variant"]


class Named(NamedTuple):
    """The row that names a path, and in what way."""

    row: str
    sort: Sort


_BARE = {one.row: one for one in AUTO_LOADED if "/" not in one.row and not one.row.endswith("*")}
_PREFIXES = {one.row[:-1]: one.row for one in AUTO_LOADED if one.row.endswith("*")}
_INNER: dict[tuple[str, ...], str] = {
    tuple(one.row.rstrip("/").split("/")): one.row for one in AUTO_LOADED if "/" in one.row[:-1]
}
_FOLDERS = {
    one.row[:-1]: one.row
    for one in AUTO_LOADED
    if one.row.endswith("/") and "/" not in one.row[:-1]
}
_FOLDED_AT_ROOT = {folded(name): name for name in _BARE}
_FOLDED_BELOW = {folded(name): name for name, one in _BARE.items() if one.case == "folded"}
_FIRST_OF_INNER = {parts[0] for parts in _INNER}


def removed_by(path: str, *, is_link: bool) -> Named | None:
    """Return the row that names an entry for removal, if one does.

    Args:
        path: Of a file or link of the tree.
        is_link: A link may stand in the place of a folder.

    Example:
        >>> removed_by("docs/CLAUDE.md", is_link=False)
        Named(row='CLAUDE.md', sort='pattern')
        >>> removed_by("docs/agent.md", is_link=False) is None
        True
    """
    parts = path.split("/")
    name = parts[-1]
    at_root = len(parts) == 1
    bare = _BARE.get(name)
    if bare is not None and (at_root or not bare.only_at_root):
        return Named(bare.row, "pattern")
    row = _folder_row(parts if is_link else parts[:-1]) or _inner_row(parts, is_link=is_link)
    if row is None and name.startswith("."):
        row = next((row for prefix, row in _PREFIXES.items() if name.startswith(prefix)), None)
    if row is not None:
        return Named(row, "pattern")
    if at_root and (variant := _FOLDED_AT_ROOT.get(folded(name))):
        return Named(variant, "root-case-variant")
    return None


def found_in(path: str, *, is_link: bool, ignores_case: bool) -> Named | None:
    """Return the row that makes an entry a finding of certification, if one does.

    Args:
        path: Of a file or link of the tree.
        is_link: A link may stand in the place of a folder.
        ignores_case: Whether the cohort's harness, or its file system, folds names.
    """
    named = removed_by(path, is_link=is_link)
    if named is not None:
        return named
    name = path.rpartition("/")[2]
    if (bare := _BARE.get(name)) is not None:
        return Named(bare.row, "context-below-root")
    if ignores_case and (variant := _FOLDED_BELOW.get(folded(name))):
        return Named(variant, "case-variant")
    return None


def is_ordinary(path: str, name: str) -> bool:
    """Tell fast that no row names a file below the root, exact case; False says nothing.

    Args:
        path: Of the file.
        name: The path's last component.
    """
    return name[0] != "." and name not in _BARE and _is_ordinary_folder(path[: -len(name) - 1])


@functools.lru_cache(maxsize=1024)
def _is_ordinary_folder(folder: str) -> bool:
    parts = folder.split("/")
    return bool(folder) and _FOLDERS.keys().isdisjoint(parts) and _FIRST_OF_INNER.isdisjoint(parts)


def _folder_row(components: list[str]) -> str | None:
    if _FOLDERS.keys().isdisjoint(components):
        return None
    return next(_FOLDERS[one] for one in components if one in _FOLDERS)


def _inner_row(parts: list[str], *, is_link: bool) -> str | None:
    """Match consecutive components; only a folder's row, or a link, may end before the path."""
    if _FIRST_OF_INNER.isdisjoint(parts):
        return None
    for start in range(len(parts) - 1):
        row = _INNER.get((parts[start], parts[start + 1]))
        is_last = start + 2 == len(parts)
        if row is not None and (row.endswith("/") != is_last or (is_last and is_link)):
            return row
    return None


def inner_names(path: str) -> list[tuple[str, str]]:
    """Return what would be loaded from a folder behind a link of this name, and by which row.

    Example:
        >>> inner_names("editor/.vscode")
        [('mcp.json', '.vscode/mcp.json')]
    """
    name = path.rpartition("/")[2]
    return [(parts[1], row) for parts, row in _INNER.items() if parts[0] == name]


def auto_loaded_paths(folder: Path) -> tuple[str, ...]:
    """Return what a harness would load from one folder, such as a parent of a workspace.

    Args:
        folder: A folder; only its own names are read, and one level below `.github`,
            `.vscode` and `.idx`.

    Returns:
        Paths relative to the folder, sorted; a folder's with a trailing slash.

    Raises:
        OutsideError: The folder can't be read: a gate that could not look says so.
    """
    try:
        children = list(folder.iterdir())
        folders = [one for one in children if one.name in _FIRST_OF_INNER and one.is_dir()]
        inner = [below for one in folders for below in one.iterdir()]
    except OSError as error:
        raise OutsideError(
            str(folder),
            found=error.strerror or str(error),
            allowed="a folder whose names can be read",
            next_step="choose a scratch place below a folder of your own",
        ) from error
    found = []
    for path in (*children, *inner):
        relative = path.relative_to(folder).as_posix()
        is_folder = path.is_dir()
        shown = relative + "/" * is_folder
        as_file = not is_folder and removed_by(relative, is_link=False)
        if as_file or (is_folder and _names_folder(relative)):
            found.append(shown)
    return tuple(sorted(found))


def _names_folder(relative: str) -> bool:
    parts = tuple(relative.split("/"))
    return parts[-1] in _FOLDERS or _INNER.get(parts, "").endswith("/")


def patterns_sha256() -> str:
    """Digest the pattern list that is in force."""
    rows = json.dumps([asdict(row) for row in AUTO_LOADED], sort_keys=True)
    return hashlib.sha256(rows.encode()).hexdigest()
