"""Git, started so that nothing of the machine or of a foreign repository steers it.

No configuration but ours is read: not the system's, not the user's, and not that of the
repository that holds the objects, for its object store is attached to an empty
repository of our own. So replace refs, grafts, hooks, promisor remotes (which would
fetch a missing object behind our back) and `safe.directory` have no say.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from benchlib.errors import InputError, InWords, OutsideError

SCHEMES = ("file", "http", "https", "ssh", "git")
"""Transports that a corpus may come by; helpers that run a command (`ext::`) are not among them."""

FETCH_SECONDS = 3600
"""A clone of the largest public repositories takes minutes; an hour means that it hangs."""

_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.ext.allow=never",
    "protocol.allow=never",
    *(f"protocol.{scheme}.allow=always" for scheme in SCHEMES),
    "http.lowSpeedLimit=1000",
    "http.lowSpeedTime=60",
)


@dataclass(frozen=True)
class ObjectStore:
    """Where the objects of a corpus lie, seen through an empty repository of our own."""

    repository: Path
    objects: Path

    def command(self, *arguments: str) -> list[str]:
        """Return the argv of one Git command."""
        settings = [part for setting in _SETTINGS for part in ("-c", setting)]
        return ["git", "--no-replace-objects", *settings, *arguments]

    def environment(self) -> dict[str, str]:
        """Return the environment: the caller's without any of Git's own variables, and ours."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        return kept | {
            "GIT_DIR": str(self.repository),
            "GIT_OBJECT_DIRECTORY": str(self.objects),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_SSH_COMMAND": "ssh -o BatchMode=yes",
            "GIT_ASKPASS": "true",
            "LC_ALL": "C",
        }

    def run(
        self, *arguments: str, stdin: bytes | None = None, timeout: float | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        """Run one Git command to its end; its status is the caller's to judge."""
        try:
            return subprocess.run(
                self.command(*arguments),
                env=self.environment(),
                cwd=self.repository,
                input=stdin,
                stdin=subprocess.DEVNULL if stdin is None else None,
                capture_output=True,
                check=False,
                timeout=timeout,
            )
        except FileNotFoundError as error:
            raise git_is_missing() from error
        except subprocess.TimeoutExpired as error:
            raise OutsideError(
                f"git {arguments[0]}",
                found=InWords(f"no end after {timeout} seconds"),
                allowed="a transfer that ends",
                next_step="clone the repository by hand and name the clone",
            ) from error

    def start(self, *arguments: str, stdin: IO[bytes] | int) -> subprocess.Popen[bytes]:
        """Start one Git command whose output is read while it runs."""
        try:
            return subprocess.Popen(
                self.command(*arguments),
                env=self.environment(),
                cwd=self.repository,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=1 << 20,
            )
        except FileNotFoundError as error:
            raise git_is_missing() from error


def git_is_missing() -> OutsideError:
    """Return the error for a machine without Git."""
    return OutsideError(
        "git",
        found=InWords("no program of that name"),
        allowed="Git 2.31 or later on PATH",
        next_step="install git",
    )


@contextlib.contextmanager
def object_store(location: str, commit: str, *, base: Path) -> Iterator[ObjectStore]:
    """Open the objects that a location holds.

    Args:
        location: A repository's folder (bare or with a work tree), a bundle file, or a URL.
        commit: The pinned commit; from a URL only it is fetched, if the server lets us.
        base: The folder that a relative location starts from.

    Yields:
        The store; what had to be fetched is removed on the way out.

    Raises:
        InputError: The location is none of the three, or the bundle can't be read.
        OutsideError: The URL can't be fetched.
    """
    with tempfile.TemporaryDirectory(prefix="objects-") as scratch:
        repository = empty_repository(Path(scratch) / "store.git", sha256=len(commit) == 64)
        own = ObjectStore(repository, repository / "objects")
        if "://" in location:
            _fetch(own, location, commit)
            yield own
            return
        path = base / location
        if path.is_file():
            _unbundle(own, path)
            yield own
        else:
            yield ObjectStore(repository, _objects_folder(path, location))


def empty_repository(folder: Path, *, sha256: bool = False) -> Path:
    """Make a bare repository by hand: no template, hence no hook and no setting but these."""
    for part in ("objects", "refs"):
        (folder / part).mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/none\n")
    version = "1\n[extensions]\n\tobjectFormat = sha256" if sha256 else "0"
    (folder / "config").write_text(
        f"[core]\n\tbare = true\n\trepositoryFormatVersion = {version}\n"
    )
    return folder


def _objects_folder(path: Path, location: str) -> Path:
    """Find a repository's objects without asking Git, which would read its configuration."""
    git_dir = path / ".git" if (path / ".git").exists() else path
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if git_dir.is_file():  # a linked work tree or a submodule: `gitdir: PATH`
            git_dir = path / git_dir.read_text("utf-8").removeprefix("gitdir:").strip()
        if (git_dir / "commondir").is_file():
            git_dir = git_dir / (git_dir / "commondir").read_text("utf-8").strip()
    objects = git_dir / "objects"
    if not (objects.is_dir() and (git_dir / "HEAD").is_file()):
        raise InputError(
            "corpus",
            "location",
            found=location,
            allowed="the folder of a Git repository, a bundle file, or a URL",
            next_step="correct the location; relative ones start at the cohort's folder",
        )
    return objects.resolve()


def _unbundle(store: ObjectStore, path: Path) -> None:
    done = store.run("bundle", "unbundle", str(path.resolve()))
    if done.returncode != 0:
        raise InputError(
            str(path),
            found=last_line(done.stderr),
            allowed="a complete Git bundle (`git bundle create FILE --all`)",
            next_step="make the bundle again, without prerequisites",
        )


def _fetch(store: ObjectStore, url: str, commit: str) -> None:
    """Fetch one commit; where a server refuses that, all its branches and tags."""
    if urlsplit(url).scheme not in SCHEMES:
        raise InputError(
            "corpus",
            "location",
            found=url,
            allowed="a URL of " + ", ".join(f"{scheme}://" for scheme in SCHEMES),
            next_step="clone it by hand and name the clone",
        )
    options = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules")
    one = store.run(*options, "--depth=1", "--", url, commit, timeout=FETCH_SECONDS)
    if one.returncode == 0:
        return
    everything = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
    done = store.run(*options, "--", url, *everything, timeout=FETCH_SECONDS)
    if done.returncode != 0:
        raise OutsideError(
            url,
            found=last_line(done.stderr),
            allowed="a repository that can be fetched without a password prompt",
            next_step="check the address and the network, or clone it by hand and name the clone",
        )


def last_line(stderr: bytes) -> str:
    """Return the last thing a program said, for a message."""
    lines = stderr.decode("utf-8", "backslashreplace").strip().splitlines()
    return lines[-1] if lines else "no word about why"
