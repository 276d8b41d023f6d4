"""The mutation audit: what stands otherwise in a finished workspace than in the sealed one.

Path, type, content, link target and permission bits are compared; times and owners are
not, so a file that was written and restored is no mutation. An empty folder alone is
none either: Git has no empty folders and the tree's digest does not cover them; one that
took a file's place is a change of type. `.git` is not part of a workspace.

Nothing is forgiven for being usual: a byte-code cache outside the declared outputs
counts like any other file. What is known about such a path is told beside it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from benchlib.contracts.attempt import Mutation, MutationReport
from benchlib.contracts.boundaries import FinishedTree, SealedWorkspace
from benchlib.contracts.paths import matches_output, path_fault
from benchlib.contracts.tree import (
    EXECUTABLE,
    LINK,
    REGULAR,
    TreeEntry,
    laid_permissions,
    tree_sha256,
)
from benchlib.errors import escaped

Change = Literal["added", "removed", "content", "mode", "link-target", "type"]

_FOLDER = "folder"
_FILES = frozenset([REGULAR, EXECUTABLE])
_SHOWN_CHARACTERS = 4000


class KnownWriter(NamedTuple):
    """A shape of path, and who writes such paths without being told to."""

    shape: re.Pattern[str]  # of a path that it wrote; the group `named` is what to declare
    tool: str
    evidence: str  # when it writes


def _folder(name: str, tool: str, evidence: str) -> KnownWriter:
    """A folder of that name, at any depth."""
    return KnownWriter(re.compile(rf"(?:^|/)(?P<named>{name})(?:/|$)"), tool, evidence)


def _file(name: str, tool: str, evidence: str) -> KnownWriter:
    """A file of that name, at any depth."""
    return KnownWriter(re.compile(rf"(?:^|/)(?P<named>{name})$"), tool, evidence)


KNOWN_WRITERS = (
    _folder("__pycache__", "Python", "byte code of each module that is imported"),
    _folder(r"\.pytest_cache", "pytest", "the last run's failures, at the end of every run"),
    _folder(r"\.hypothesis", "Hypothesis", "examples and character tables, at the first test"),
    _folder(r"\.mypy_cache", "mypy", "parsed modules, at every run"),
    _folder(r"\.ruff_cache", "ruff", "results by file, at every run"),
    _folder(r"\.tox", "tox", "environments"),
    _folder(r"\.nox", "nox", "environments"),
    _folder(r"\.venv", "venv or uv", "the usual place of a virtual environment"),
    _folder(r"[^/]+\.egg-info", "setuptools", "metadata, at a build or an editable installation"),
    _folder(r"\.ipynb_checkpoints", "Jupyter", "a copy of each notebook that is saved"),
    _file(r"\.coverage(?:\.[^/]+)?", "coverage.py", "measurements, at the end of a run"),
    _folder("htmlcov", "coverage.py", "its report as HTML"),
    _file(r"uv\.lock", "uv", "resolved versions, at `uv run`, `uv sync` and `uv lock`"),
    _file(r"poetry\.lock", "Poetry", "resolved versions, at `poetry install` and `poetry lock`"),
    _file(r"Pipfile\.lock", "Pipenv", "resolved versions, at `pipenv install`"),
    _folder("node_modules", "npm, yarn or pnpm", "installed packages"),
    _file(
        r"package-lock\.json", "npm", "resolved versions, at `npm install`, also when it was absent"
    ),
    _file(r"yarn\.lock", "yarn", "resolved versions, at `yarn install`"),
    _file(r"pnpm-lock\.yaml", "pnpm", "resolved versions, at `pnpm install`"),
    _file(r"[^/]+\.tsbuildinfo", "TypeScript", "state of an incremental build"),
    _folder(r"\.nyc_output", "nyc", "coverage measurements"),
    _folder("target", "Cargo or Maven", "everything that is built"),
    _file(r"Cargo\.lock", "Cargo", "resolved versions, at a build"),
    _file(r"go\.sum", "Go", "checksums of modules, at `go get` and `go mod tidy`"),
    _folder(r"\.gradle", "Gradle", "state of builds"),
    _folder("CMakeFiles", "CMake", "state of a configuration"),
    _file(r"CMakeCache\.txt", "CMake", "a configuration"),
    _file(r"\.aider[^/]*", "Aider", "its conversation, input history and tags"),
    _folder(r"\.aider[^/]*", "Aider", "its conversation, input history and tags"),
    _folder(r"\.opencode", "OpenCode", "its own settings and dependencies"),
    _folder(r"\.claude", "Claude Code", "settings of a project, when a permission is kept"),
    _folder(r"\.codex", "Codex", "settings of a project"),
    _folder(r"\.gemini", "Gemini CLI", "settings of a project"),
    _folder(r"\.cursor", "Cursor", "settings of a project"),
    _folder(r"\.goose", "goose", "its own state"),
    _file(r"nohup\.out", "nohup", "output of a program that it started"),
    _file(r"core(?:\.\d+)?", "the kernel", "the memory of a program that crashed"),
    _file(r"\.DS_Store", "macOS Finder", "how a folder is shown"),
    _file(r"[^/]+\.(?:swp|swo)", "Vim", "a file that is open"),
    _file(r"[^/]*~", "an editor", "the version before the last save"),
)
"""Who writes what, so that a zero can be understood and the outputs declared better.

A row forgives nothing. The first that fits is told.
"""


def audit(
    sealed: SealedWorkspace, finished: FinishedTree, allowed_outputs: tuple[str, ...]
) -> MutationReport:
    """Compare a finished workspace with the sealed one.

    Args:
        sealed: What the arm began with.
        finished: What was there when the last process had gone.
        allowed_outputs: Declared outputs; see ``matches_output``.

    Returns:
        Every mutation, by its path's bytes; the undeclared ones force the reward to zero.
    """
    found = sorted(_changes(sealed.entries, finished.entries), key=lambda one: os.fsencode(one[0]))
    return MutationReport(
        before=sealed.sha256,
        after=tree_sha256(_without_folders(finished.entries)) if found else sealed.sha256,
        mutations=tuple(_mutation(path, change, allowed_outputs) for path, change in found),
        method=finished.method,
    )


def _without_folders(entries: Iterable[TreeEntry]) -> Iterator[TreeEntry]:
    return (entry for entry in entries if entry.mode != _FOLDER)


def _changes(
    before: tuple[TreeEntry, ...], after: tuple[TreeEntry, ...]
) -> Iterator[tuple[str, Change]]:
    """Yield path and kind; a path may have changed in more than one way."""
    was = {entry.path: entry for entry in before}
    new = []
    for entry in after:
        old = was.pop(entry.path, None)
        if old is entry:
            continue
        if old is not None:
            yield from ((entry.path, change) for change in _differences(old, entry))
        else:
            new.append(entry)
    once, now = _parents(was.values()), _parents(new)
    sides: tuple[tuple[Iterable[TreeEntry], set[str], Change], ...] = (
        (new, once, "added"),
        (was.values(), now, "removed"),
    )
    for entries, others, change in sides:
        for entry in entries:
            if entry.mode != _FOLDER:
                yield entry.path, "type" if entry.path in others else change


def _parents(entries: Iterable[TreeEntry]) -> set[str]:
    """Every folder that these lie in; a path among them was, or became, a folder."""
    return {
        entry.path[:end]
        for entry in entries
        for end, character in enumerate(entry.path)
        if character == "/"
    }


def _differences(old: TreeEntry, new: TreeEntry) -> Iterator[Change]:
    if _kind(old) != _kind(new):
        yield "type"
        return
    if old.sha256 != new.sha256:
        yield "link-target" if old.mode == LINK else "content"
    if old.mode in _FILES and laid_permissions(old.mode) != new.permissions:
        yield "mode"


def _kind(entry: TreeEntry) -> str:
    return "file" if entry.mode in _FILES else entry.mode


def _mutation(path: str, change: Change, allowed_outputs: tuple[str, ...]) -> Mutation:
    is_declared = any(matches_output(path, pattern) for pattern in allowed_outputs)
    writer = None if is_declared else known_writer(path)
    return Mutation(
        path=escaped(path)[:_SHOWN_CHARACTERS],
        change=change,
        is_declared=is_declared,
        known_writer=f"{writer[0].tool}: {writer[0].evidence}" if writer else None,
        declare_with=None if is_declared else _declaration(path, writer),
    )


def known_writer(path: str) -> tuple[KnownWriter, str] | None:
    """Return who is known to write such a path, and the name to declare.

    Example:
        >>> known_writer("src/__pycache__/app.cpython-311.pyc")[1]
        '__pycache__'
    """
    for writer in KNOWN_WRITERS:
        match = writer.shape.search(path)
        if match:
            return writer, match["named"]
    return None


def _declaration(path: str, writer: tuple[KnownWriter, str] | None) -> str | None:
    """The line for the outputs that would allow it; None where no such line can be written."""
    line = f"**/{writer[1]}" if writer else path
    return None if path_fault(line.removeprefix("**/")) else line
