"""One arm, or one verifier's run, in folders of this machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchlib.contracts.attempt import SandboxFacts
from benchlib.contracts.boundaries import ArmPaths, FinishedTree, Turn
from benchlib.errors import OutsideError
from benchlib.processes import run_supervised
from benchlib.sandbox._files import copy_entries, read_regular, remove_tree, scan_finished
from benchlib.sandbox._places import CONFIGURATION_FOLDERS
from benchlib.sandbox._programs import Ending, file_permissions, refuse_names

Run = Callable[[tuple[str, ...], Mapping[str, str], float, int], Ending]
"""Runs one program: argv, what its environment adds, seconds, bytes kept of each output."""


@dataclass(frozen=True)
class Folders:
    """The folders of one arm or one verifier's run on this machine."""

    root: Path

    @property
    def workspace(self) -> Path:
        return self.root / "workspace"

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def agent(self) -> Path:
        return self.root / "agent"

    @property
    def door(self) -> Path:
        return self.root / "door"

    @property
    def programs(self) -> Path:
        """Holds `python3` alone, for a plain process."""
        return self.root / "bin"

    def make_home(self) -> bool:
        """Make a fresh home; tells whether it holds its own empty folders and nothing else."""
        for folder in CONFIGURATION_FOLDERS.values():
            (self.home / folder).mkdir(parents=True)
        found = scan_finished(self.home)
        ours = set(CONFIGURATION_FOLDERS.values())
        return all(entry.mode == "folder" and entry.path in ours for entry in found)

    def lay_agent(self, files: Mapping[str, bytes]) -> None:
        """Lay the agent's files, which nobody but us may write."""
        refuse_names(tuple(files))
        self.agent.mkdir()
        for name, content in files.items():
            location = self.agent / name
            location.parent.mkdir(parents=True, exist_ok=True)
            location.write_bytes(content)
            location.chmod(file_permissions(content))


class LocalArm:
    """One arm in folders of this machine; made by `LocalSandbox.open_arm`.

    Args:
        facts: What holds it.
        paths: Places as the agent sees them.
        folders: The same on this machine.
        run: Runs one program of it.
    """

    def __init__(self, facts: SandboxFacts, paths: ArmPaths, folders: Folders, run: Run) -> None:
        self.facts = facts
        self.paths = paths
        self._folders = folders
        self._run = run

    def run(
        self,
        argv: tuple[str, ...],
        *,
        environment: Mapping[str, str],
        timeout_seconds: int,
        output_limit_bytes: int,
    ) -> Turn:
        """Run one program in the workspace; nothing that it started is alive afterwards."""
        return self._run(argv, environment, timeout_seconds, output_limit_bytes).turn(argv)

    def finished(self) -> FinishedTree:
        """Read the whole workspace."""
        return FinishedTree(scan_finished(self._folders.workspace), "full-scan")

    def read_home(self, path: str, *, limit_bytes: int) -> bytes | None:
        """Return the head of a file of the home; no link is followed."""
        found = read_regular(self._folders.home, path, limit_bytes=limit_bytes)
        return found[0] if found else None

    def copy_workspace(self, destination: Path) -> None:
        """Copy the finished workspace into a new folder, `.git` left out."""
        entries = scan_finished(self._folders.workspace)
        copy_entries(entries, destination, {}, unchanged=self._folders.workspace)

    def close(self) -> None:
        """Remove the arm's folders."""
        remove_tree(self._folders.root)


def copy_layout(layout: Path, destination: Path) -> None:
    """Copy with times and permissions; blocks are shared where the file system can."""
    copied = run_supervised(
        ["cp", "-a", "--reflink=auto", "--", str(layout), str(destination)],
        cwd=destination.parent,
        environment={"PATH": os.defpath},
        stdin=b"",
        timeout_seconds=3600,
        stdout_limit_bytes=0,
        stderr_limit_bytes=1000,
        stop_at_stdout_limit=False,
        grace_seconds=0,
    )
    if copied.exit_status != 0:
        raise OutsideError(
            "local sandbox",
            "copy of the workspace",
            found=copied.spawn_error or copied.stderr.decode(errors="replace"),
            allowed="room for one copy per arm",
            next_step="make room, or set TMPDIR to a larger place",
        )
