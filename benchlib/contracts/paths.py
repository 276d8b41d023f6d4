"""Portable paths: names that mean the same file on every system.

A portable path is relative and POSIX. Refused are: an absolute path or drive
letter, a backslash, an empty, ``.`` or ``..`` component, control characters,
characters that Windows forbids, a trailing dot or space, a reserved Windows
name, more than 4,096 bytes or a component of more than 255, and two paths of
one set that are equal after NFC and case folding.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Annotated

from pydantic import AfterValidator, WithJsonSchema

from benchlib.contracts.base import Identifier

RESERVED_NAMES = frozenset(
    ["con", "prn", "aux", "nul", "conin$", "conout$"]
    + [f"{device}{digit}" for device in ("com", "lpt") for digit in "0123456789¹²³"]
)
"""Device names of Windows, with or without an ending (Microsoft, "Naming Files")."""

_FORBIDDEN = '<>:"|?*'  # Windows refuses them in names; ":" is also the drive letter's mark


def path_fault(path: str) -> str | None:
    r"""Say in words why a path is not portable.

    Args:
        path: The path as stored; bytes that are no UTF-8 stand as surrogate escapes.

    Returns:
        The first rule that it breaks, or None for a portable path.

    Example:
        >>> path_fault("docs/guide.md"), path_fault("a\\b.txt"), path_fault("src/aux.c")
        (None, 'a backslash', 'a reserved Windows name')
    """
    if not path:
        return "an empty path"
    if any(0xD800 <= ord(character) <= 0xDFFF for character in path):
        return "not UTF-8"
    rules = {
        "more than 4096 bytes": len(path.encode()) > 4096,
        "a backslash": "\\" in path,
        "an absolute path": path.startswith("/"),
        "a control character": any(unicodedata.category(one) == "Cc" for one in path),
    }
    broken = next((rule for rule, is_broken in rules.items() if is_broken), None)
    return broken or next(filter(None, map(_component_fault, path.split("/"))), None)


def _component_fault(name: str) -> str | None:
    rules = {
        "an empty component": not name,
        f"a component {name!r}": name in {".", ".."},
        "a component of more than 255 bytes": len(name.encode()) > 255,
        f"a character that Windows forbids ({_FORBIDDEN})": any(one in _FORBIDDEN for one in name),
        "a trailing dot": name.endswith("."),
        "a trailing space": name.endswith(" "),
        "a reserved Windows name": name.split(".", 1)[0].rstrip(" ").casefold() in RESERVED_NAMES,
    }
    return next((rule for rule, is_broken in rules.items() if is_broken), None)


def collisions(paths: Iterable[str]) -> list[tuple[str, str]]:
    """Find paths that one file system keeps apart and another does not.

    Folders count: ``Docs/a`` and ``docs/b`` collide in their first component.

    Args:
        paths: Any paths, portable or not.

    Returns:
        Pairs (later, earlier) of spellings that are equal after NFC and case folding,
        in the order of the paths' code points.

    Example:
        >>> collisions(["README.md", "Readme.MD"])
        [('Readme.MD', 'README.md')]
    """
    first_spelling: dict[str, str] = {}
    found: dict[tuple[str, str], None] = {}
    for path in sorted(set(paths)):
        parts = path.split("/")
        for depth in range(1, len(parts) + 1):
            prefix = "/".join(parts[:depth])
            earlier = first_spelling.setdefault(folded(prefix), prefix)
            if earlier != prefix:
                found[prefix, earlier] = None
                break
    return list(found)


def folded(path: str) -> str:
    """Return the form in which two spellings of one portable name are equal."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


def _portable(path: str) -> str:
    fault = path_fault(path)
    if fault:
        msg = f"a portable relative path with '/' between its parts; here: {fault}"
        raise ValueError(msg)
    return path


PortablePath = Annotated[
    str,
    AfterValidator(_portable),
    WithJsonSchema({"type": "string", "description": "a portable relative path"}),
]


def _file_name(name: str) -> str:
    fault = path_fault(name)
    if fault:
        msg = f"an identifier that can name a file on every system; here: {fault}"
        raise ValueError(msg)
    return name


FileIdentifier = Annotated[Identifier, AfterValidator(_file_name)]
"""An identifier that names a file or folder too: no ``aux``, no dot at the end."""


def _output_pattern(pattern: str) -> str:
    _portable(pattern.removeprefix("**/"))
    return pattern


OutputPattern = Annotated[
    str,
    AfterValidator(_output_pattern),
    WithJsonSchema(
        {"type": "string", "description": "a portable relative path, or one after `**/`"}
    ),
]
"""A portable path that stands for itself and all below it; ``**/NAME`` at any depth."""


def matches_output(path: str, pattern: str) -> bool:
    """Tell whether a path of the workspace is covered by one declared output.

    Example:
        >>> matches_output("src/app.py", "src"), matches_output("src2/app.py", "src")
        (True, False)
        >>> matches_output("a/b/__pycache__/app.pyc", "**/__pycache__")
        True
    """
    anywhere = pattern.startswith("**/")
    pattern = pattern.removeprefix("**/")
    if anywhere:
        return f"/{pattern}/" in f"/{path}/"
    return path == pattern or path.startswith(pattern + "/")
