"""The image surface: what stands around the workspace, and comes from no corpus.

What can be told by reading: files that a harness loads, in the home and in parents;
copies of the project under test, installed or in a package cache, by their names; terms
and answer phrases in names and in the text of what is no installed package; keys and
repositories. What can't: a copy under another name, or packed inside another file.
Inside folders of installed packages only names are read: their content is other people's.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from benchlib.contracts.fixture import FindingKind
from benchlib.prepare import patterns
from benchlib.prepare._autoload import found_in
from benchlib.prepare._findings import Collected, digest_at, no_surface
from benchlib.prepare._reader import read_one
from benchlib.prepare._scanner import Scanner

_NOT_PROJECT = frozenset(
    {"tests", "test", "docs", "doc", "examples", "example", "benchmarks", "scripts", "tools", "src"}
)
"""Folders with an `__init__.py` that are not what a project installs."""

_COPY_FILES = re.compile(
    r"(?:__editable__[._-]+)?(?P<name>[a-z0-9._-]+?)"
    r"(?:-v?\d[a-z0-9.+!_-]*?)?\.(?:whl|egg|egg-link|pth|tar\.gz|tar\.bz2|tar\.xz|tgz|zip|crate)"
)
_COPY_FOLDERS = re.compile(
    r"(?P<name>[a-z0-9._-]+?)(?:-v?\d[a-z0-9.+!_-]*?)?\.(?:dist-info|egg-info|egg)"
)


def normal_name(name: str) -> str:
    """Return a project's name as package indexes compare it.

    Example:
        >>> normal_name("Parcel_Desk")
        'parcel-desk'
    """
    return re.sub(r"[-_.]+", "-", name).strip("-").lower()


_MANIFESTS: dict[str, str] = {
    "pyproject.toml": r"""^name\s*=\s*["']([^"'\n]+)""",
    "Cargo.toml": r"""^name\s*=\s*["']([^"'\n]+)""",
    "setup.cfg": r"^name\s*=\s*(\S+)",
    "setup.py": r"""\bname\s*=\s*["']([^"'\n]+)""",
    "PKG-INFO": r"^Name:\s*(\S+)",
    "package.json": r'"name"\s*:\s*"(?:@[^/"\n]+/)?([^"\n]+)"',
    "go.mod": r"^module\s+(?:\S*/)?(\S+)",
}
"""Where a project says its name; the first match counts, for the rest of a file names others."""


def project_names(root: Path) -> frozenset[str]:
    """Return the names under which the project of a tree is installed.

    Args:
        root: The tree. Read are its manifests, and the names of its top packages.
    """
    names = set()
    for manifest, expression in _MANIFESTS.items():
        path = root / manifest
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                head = file.read(_MANIFEST_BYTES).decode("utf-8", "replace")
            names |= {
                match.group(1) for match in [re.search(expression, head, re.MULTILINE)] if match
            }
    for parent in (root, root / "src"):
        packages = parent.glob("*/__init__.py") if parent.is_dir() else ()
        names |= {path.parent.name for path in packages} - _NOT_PROJECT
    return frozenset(normal_name(name) for name in names) - {""}


_MANIFEST_BYTES = 1 << 18


class ImageReader:
    """Reads the folders of an image.

    Args:
        scanner: What to look for in texts and names.
        collected: Where findings go.
        projects: Names of the project under test.
        ignores_case: Whether the harness folds names.
    """

    def __init__(
        self,
        scanner: Scanner,
        collected: Collected,
        *,
        projects: frozenset[str],
        ignores_case: bool,
    ) -> None:
        self._scanner = scanner
        self._collected = collected
        self._projects = projects
        self._ignores_case = ignores_case

    def read(self, name: str, root: Path) -> None:
        """Read one folder; it may be empty, as a fresh home is.

        Args:
            name: What the folder stands for: home, parents, packages, caches.
            root: The folder.

        Raises:
            InputError: It is absent, or something in it can't be read.
        """
        digest = hashlib.sha256()
        files = size_bytes = 0
        surface = f"image:{name}"
        try:
            for path, child in _walk(root, lambda *one: self._enters(surface, *one)):
                size, content = self._read_one(surface, path, child, root)
                digest.update(f"{size} {content} ".encode() + os.fsencode(path) + b"\0")
                files += 1
                size_bytes += size
        except OSError as error:
            raise no_surface(f"{root} ({surface})", error.strerror or str(error)) from error
        self._collected.read(
            surface, "image", files=files, size_bytes=size_bytes, sha256=digest.hexdigest()
        )

    def _enters(self, surface: str, path: str, child: os.DirEntry[str], root: Path) -> bool:
        """Judge a folder; one that is a copy or a repository is one finding, not one a file."""
        self._judge_name(surface, path, child)
        names = {entry.name for entry in os.scandir(child.path)}
        is_repository = {"HEAD", "objects"} <= names and not names.isdisjoint(
            {"refs", "packed-refs"}
        )
        if is_repository:
            self._add(
                surface,
                path,
                child,
                kind="suspicious-metadata",
                pattern="git repository data",
                why=patterns.WHY_GIT_DATA,
            )
        return not (self._judge_copy(surface, path, child, root) or is_repository)

    def _read_one(
        self, surface: str, path: str, child: os.DirEntry[str], root: Path
    ) -> tuple[int, str]:
        """Judge one file or link; returns its size and what the surface's digest says of it."""
        self._judge_name(surface, path, child)
        self._judge_copy(surface, path, child, root)
        is_file = child.is_file(follow_symlinks=False)
        if _in_packages(path, root):
            return child.stat(follow_symlinks=False).st_size, "name-only"
        named = found_in(path, is_link=not is_file, ignores_case=self._ignores_case)
        if named is not None:
            self._add(
                surface,
                path,
                child,
                kind="auto-loaded-context",
                pattern=named.row,
                why=patterns.WHY_AUTO_LOADED,
            )
        if not is_file:
            return child.stat(follow_symlinks=False).st_size, "no-file"
        seen = read_one(child.path, child.name, self._scanner)
        self._collected.add_hits(surface, path, self._scanner, seen.hits, sha256=seen.sha256)
        return seen.size_bytes, seen.sha256

    def _judge_name(self, surface: str, path: str, child: os.DirEntry[str]) -> None:
        hits = self._scanner.text(child.name)
        if hits:
            sha256 = digest_at(Path(child.path))
            self._collected.add_hits(
                surface, path, self._scanner, hits, in_name=True, sha256=sha256
            )

    def _judge_copy(self, surface: str, path: str, child: os.DirEntry[str], root: Path) -> bool:
        """Tell by a name whether it is a copy of the project, installed or in a cache."""
        shape = (_COPY_FOLDERS if child.is_dir() else _COPY_FILES).fullmatch(child.name.lower())
        called = shape.group("name") if shape else ""
        if not called and _is_top_in_packages(path, root):
            called = re.sub(r"(\.py|\.so|-v?\d[a-z0-9.+!_-]*)$", "", child.name.lower())
        is_copy = normal_name(called) in self._projects
        if is_copy:
            self._add(
                surface,
                path,
                child,
                kind="solution-leak",
                pattern=child.name,
                why=patterns.WHY_INSTALLED_COPY,
            )
        return is_copy

    def _add(
        self,
        surface: str,
        path: str,
        child: os.DirEntry[str],
        *,
        kind: FindingKind,
        pattern: str,
        why: str,
    ) -> None:
        sha256 = digest_at(Path(child.path))
        self._collected.add(surface, path, kind, pattern, why, sha256=sha256)


_Enters = Callable[[str, "os.DirEntry[str]", Path], bool]


def _in_packages(path: str, root: Path) -> bool:
    """Tell whether a path is directly or deeper in a folder of installed packages."""
    folders = [root.name, *path.split("/")[:-1]]
    return not patterns.PACKAGE_FOLDERS.isdisjoint(folders)


def _is_top_in_packages(path: str, root: Path) -> bool:
    """Tell whether a name stands where packages are installed, a scope's folder left out."""
    folders = [root.name, *path.split("/")[:-1]]
    if folders[-1].startswith("@"):
        folders.pop()
    return bool(folders) and folders[-1] in patterns.PACKAGE_FOLDERS


def _walk(root: Path, enters: _Enters) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield files, links and special files in a fixed order, never following a link."""
    pending: list[tuple[str, os.DirEntry[str]]] = []
    folder, location = "", str(root)
    while True:
        with os.scandir(location) as listing:
            children = sorted(listing, key=lambda child: child.name, reverse=True)
        pending += [(f"{folder}/{child.name}".lstrip("/"), child) for child in children]
        while pending:
            folder, child = pending.pop()
            if not child.is_dir(follow_symlinks=False):
                yield folder, child
            elif enters(folder, child, root):
                location = child.path
                break
        else:
            return
