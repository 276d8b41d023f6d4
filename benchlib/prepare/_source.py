"""The source surface: the tree on disk, read once and in the order of its paths' bytes.

The digest is taken of the very bytes that were looked at, so that a certificate can't
be about another tree than the one that is sealed.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from benchlib.contracts.fixture import FindingKind
from benchlib.contracts.tree import EXECUTABLE, LINK, REGULAR
from benchlib.errors import InputError, InWords
from benchlib.prepare import patterns
from benchlib.prepare._autoload import found_in, inner_names, is_ordinary
from benchlib.prepare._findings import Collected, digest_at, no_surface
from benchlib.prepare._links import follow, look_on_disk
from benchlib.prepare._reader import read_all
from benchlib.prepare._scanner import Scanner, Seen

SURFACE = "source"

_Child = os.DirEntry[str]


class SourceReader:
    """Reads one tree; its findings go to what is collected.

    Args:
        root: The tree.
        scanner: What to look for in texts and names.
        collected: Where findings go.
        ignores_case: Whether the cohort's harness, or its file system, folds names.
    """

    def __init__(
        self, root: Path, scanner: Scanner, collected: Collected, *, ignores_case: bool
    ) -> None:
        self._root = str(root)
        self._scanner = scanner
        self._collected = collected
        self._ignores_case = ignores_case
        self._look = look_on_disk(self._root)

    def read(self) -> str:
        """Read everything.

        Returns:
            The tree's digest.

        Raises:
            InputError: The tree is empty, or holds what is no file, link or folder.
            OSError: Something can't be read.
        """
        digest = hashlib.sha256()
        files = size_bytes = 0
        for (path, name), seen in read_all(self._files(), self._scanner):
            if seen is None:
                mode, size, sha256 = self._read_link(path)
            else:
                mode, size, sha256 = self._judge_file(path, name, seen)
            digest.update(f"{mode} {sha256} ".encode() + os.fsencode(path) + b"\0")
            files += 1
            size_bytes += size
        if files == 0:
            raise no_surface(self._root, "no file at all")
        self._collected.read(
            SURFACE, "source", files=files, size_bytes=size_bytes, sha256=digest.hexdigest()
        )
        return digest.hexdigest()

    def _files(self) -> Iterator[tuple[tuple[str, str], str | None, str]]:
        """Yield files and links in the order of their paths' bytes; folders are judged here."""
        pending: list[tuple[str, _Child]] = list(self._children(""))
        while pending:
            path, child = pending.pop()
            if child.is_file(follow_symlinks=False):
                yield (path, child.name), child.path, child.name
            elif child.is_dir(follow_symlinks=False):
                pending += self._children(path)
            elif child.is_symlink():
                yield (path, child.name), None, child.name
            else:
                raise InputError(
                    self._root,
                    path,
                    found=InWords("a FIFO, socket or device"),
                    allowed="files, links and folders",
                    next_step="remove it",
                )

    def _children(self, folder: str) -> Iterator[tuple[str, _Child]]:
        """Yield a folder's children, last first."""
        location = f"{self._root}/{folder}" if folder else self._root
        with os.scandir(location) as listing:
            children = list(listing)
        names = [child.name for child in children]
        self._judge_names(folder, names)
        self._judge_folder(folder, set(names))
        children.sort(key=_git_order, reverse=True)
        prefix = f"{folder}/" if folder else ""
        return ((prefix + child.name, child) for child in children)

    def _judge_names(self, folder: str, names: list[str]) -> None:
        """Look for terms in all names of a folder at once, and one by one only after a hit."""
        if not self._scanner.text("\n".join(names)):
            return
        for name in names:
            hits = self._scanner.text(name)
            path = f"{folder}/{name}" if folder else name
            sha256 = digest_at(Path(self._root) / path) if hits else None
            self._collected.add_hits(
                SURFACE, path, self._scanner, hits, in_name=True, sha256=sha256
            )

    def _judge_folder(self, folder: str, names: set[str]) -> None:
        """Recognise a repository's own data, whatever the folder is called."""
        is_bare = {"HEAD", "objects"} <= names and not names.isdisjoint(
            {"refs", "packed-refs", "config"}
        )
        is_called_so = folder.lower().endswith(".git") and not names.isdisjoint(patterns.GIT_PARTS)
        if folder and (is_bare or is_called_so):
            self._add(
                folder,
                "suspicious-metadata",
                "git repository data",
                patterns.WHY_GIT_DATA,
                sha256=digest_at(Path(self._root) / folder),
            )

    def _judge_file(self, path: str, name: str, seen: Seen) -> tuple[str, int, str]:
        """Judge one file by its name and its content; returns mode, size and digest."""
        is_patch = self._judge_name(path, name, seen.sha256, is_link=False)
        if seen.hits:
            rules = self._scanner.rules
            hits = {
                index: line
                for index, line in seen.hits.items()
                if not (is_patch and rules[index].kind == "patch-or-diff")
            }
            self._collected.add_hits(SURFACE, path, self._scanner, hits, sha256=seen.sha256)
        mode = EXECUTABLE if seen.mode_bits & stat.S_IXUSR else REGULAR
        return mode, seen.size_bytes, seen.sha256

    def _read_link(self, path: str) -> tuple[str, int, str]:
        location = f"{self._root}/{path}"
        target = os.readlink(location)  # noqa: PTH115 - text in, text out
        raw = os.fsencode(target)
        sha256 = hashlib.sha256(raw).hexdigest()
        self._judge_name(path, path.rpartition("/")[2], sha256, is_link=True)
        self._judge_link(path, sha256)
        hits = self._scanner.text(target)
        self._collected.add_hits(SURFACE, path, self._scanner, hits, sha256=sha256)
        return LINK, len(raw), sha256

    def _judge_link(self, path: str, sha256: str) -> None:
        trail = follow(path, self._look)
        if trail.end in {"absolute", "outside"}:
            pattern = "absolute link" if trail.end == "absolute" else "link out of the tree"
            self._add(path, "suspicious-metadata", pattern, patterns.WHY_LINK_OUT, sha256=sha256)
        for name, row in inner_names(path) if trail.end == "folder" else ():
            behind = self._look(f"{trail.last}/{name}".lstrip("/"))
            if behind != "missing":
                self._add(
                    path, "auto-loaded-context", row, patterns.WHY_THROUGH_LINK, sha256=sha256
                )

    def _judge_name(self, path: str, name: str, sha256: str, *, is_link: bool) -> bool:
        """Judge what a name alone says; returns whether it is that of a patch."""
        lowered = name.lower()
        is_patch = lowered.endswith(patterns.PATCH_ENDINGS)
        if is_patch:
            ending = "*" + lowered[lowered.rindex(".") :]
            self._add(path, "patch-or-diff", ending, patterns.WHY_PATCH_NAME, sha256=sha256)
        if is_ordinary(path, name) and not (is_link or self._ignores_case):
            return is_patch
        named = found_in(path, is_link=is_link, ignores_case=self._ignores_case)
        if named is not None:
            why = _WHY_NAMED.get(named.sort, patterns.WHY_AUTO_LOADED)
            self._add(path, "auto-loaded-context", named.row, why, sha256=sha256)
        if _is_env(lowered) and not is_patch:
            self._add(path, "suspicious-metadata", ".env", patterns.WHY_ENV, sha256=sha256)
        if lowered == ".git":
            self._add(
                path, "suspicious-metadata", ".git file", patterns.WHY_GIT_DATA, sha256=sha256
            )
        return is_patch

    def _add(self, path: str, kind: FindingKind, pattern: str, why: str, *, sha256: str) -> None:
        self._collected.add(SURFACE, path, kind, pattern, why, sha256=sha256)


_WHY_NAMED = {
    "context-below-root": patterns.WHY_CONTEXT_BELOW_ROOT,
    "case-variant": patterns.WHY_CASE_VARIANT,
}


def _is_env(lowered: str) -> bool:
    return lowered == ".env" or (
        lowered.startswith(".env.") and not lowered.endswith(patterns.ENV_HARMLESS_ENDINGS)
    )


def _git_order(child: _Child) -> bytes:
    """A folder sorts as if a slash followed: then whole paths come in the order of their bytes."""
    name = os.fsencode(child.name)
    return name + b"/" if child.is_dir(follow_symlinks=False) else name
