"""Where two real implementations stand today: what `run` asks of a sandbox and of an agent.

A sandbox starts arms and nothing else; it does not know what a pair is. An adapter
turns a plan into an argv and a log into a trajectory, and starts nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from benchlib.contracts.attempt import ProcessRecord, SandboxFacts
from benchlib.contracts.challenge import Environment
from benchlib.contracts.trajectory import Trajectory
from benchlib.contracts.tree import TreeEntry


@dataclass(frozen=True)
class SealedWorkspace:
    """A certified tree on disk; made only by `prepare.seal`. Nobody writes into it."""

    root: Path
    entries: tuple[TreeEntry, ...]  # in the order of their paths' bytes
    sha256: str  # tree digest
    certification_sha256: str


@dataclass(frozen=True)
class ArmPaths:
    """Places as the agent sees them; alike in both arms under docker and bubblewrap."""

    workspace: str
    home: str
    agent: str  # the adapter's files, read-only
    door: str  # the folder of the socket `model.sock`, the only way to a model


@dataclass(frozen=True)
class Turn:
    """One run of the agent's program: its record, and the head of what it printed."""

    record: ProcessRecord
    stdout: bytes
    stderr: bytes


@dataclass(frozen=True)
class FinishedTree:
    """What stands in the workspace after the last process is gone."""

    entries: tuple[TreeEntry, ...]
    method: Literal["full-scan", "upper-directory"]


class Arm(Protocol):
    """One sandbox with a fresh home; used by one thread, closed by its user."""

    facts: SandboxFacts
    paths: ArmPaths

    def run(
        self,
        argv: tuple[str, ...],
        *,
        environment: Mapping[str, str],
        timeout_seconds: int,
        output_limit_bytes: int,
    ) -> Turn:
        """Run one program in the workspace, then kill all that it started and name the survivors.

        May be called again: workspace and home stay as the last turn left them.
        """
        ...

    def finished(self) -> FinishedTree:
        """Read the workspace; no process of the arm is alive then."""
        ...

    def read_home(self, path: str, *, limit_bytes: int) -> bytes | None:
        """Return a file of the arm's home, cut at the limit; None when it is no regular file."""
        ...

    def copy_workspace(self, destination: Path) -> None:
        """Copy the finished workspace into a new folder, links as links, special files left out."""
        ...

    def close(self) -> None:
        """Remove everything; may be called twice."""
        ...


@dataclass(frozen=True)
class JudgedProcess:
    """How a verifier's process ended, and what it left on its own channel."""

    exit_status: int | None  # None: killed, or never started
    timed_out: bool
    milliseconds: int
    stdout: bytes  # the head; never parsed
    stderr: bytes
    verdict: bytes | None  # the verdict file's bytes; None when it is absent, no file, or too large


RunVerifier = Callable[[Path], JudgedProcess]
"""Runs one proved verifier on the copy of a workspace, in a fresh sandbox without network."""


class Sandbox(Protocol):
    """Docker or local. One object serves many threads."""

    name: Literal["docker", "local"]

    def preflight(self, environment: Environment) -> None:
        """Fail early: engine, base image, isolation, what stands around a workspace.

        Raises:
            OutsideError: The engine or an image is not there; the message says how to get it.
            RefusedError: Something of the operator's could be read by an arm; names the file.
        """
        ...

    def load(self, sealed: SealedWorkspace) -> str:
        """Make the one image identity that every arm of this workspace starts from; idempotent."""
        ...

    def open_arm(
        self,
        sealed: SealedWorkspace,
        environment: Environment,
        *,
        agent_files: Mapping[str, bytes],
        door: Path | None,
    ) -> Arm:
        """Make one arm: fresh workspace, home and configuration folders, nothing inherited."""
        ...

    def judge(
        self,
        workspace: Path,
        verifier: Path,
        *,
        runtime: tuple[str, ...],
        timeout_seconds: int,
    ) -> JudgedProcess:
        """Run a verifier on a copy of a workspace: no network, a verdict channel of its own."""
        ...

    def image_surface(self) -> Mapping[str, Path]:
        """Return what stands around the workspace: name to a folder that certification may read.

        Home, the workspace's parents, and installed or cached copies of projects (such as
        site-packages), as an arm would see them.
        """
        ...

    def remove_leftovers(self) -> tuple[str, ...]:
        """Remove what a crashed run of the same label left; returns the names of what went."""
        ...


@dataclass(frozen=True)
class Task:
    """What an adapter is told. It says nothing about the arm but whether memory tools exist."""

    prompts: tuple[str, ...]
    session: str  # an id for the agent's own session, equal in both arms
    seed: int
    model: str
    max_steps: int
    memory_tools: bool  # tool-pull is declared
    memory_retrieval: bool  # prompt-retrieval is declared
    token: str  # opens the model's door for this arm alone; never recorded


@dataclass(frozen=True)
class ArmCommand:
    """How to start an agent: one argv per step, and what its environment adds."""

    steps: tuple[tuple[str, ...], ...]
    environment: Mapping[str, str]


class Adapter(Protocol):
    """One agent program."""

    name: str
    version: str
    log: str | None  # the native log's path below the home

    def agent_files(self, task: Task) -> Mapping[str, bytes]:
        """Return files by name, laid read-only into `ArmPaths.agent` when the arm is made."""
        ...

    def command(self, task: Task, paths: ArmPaths) -> ArmCommand:
        """Turn a task into what is started."""
        ...

    def trajectory(self, log: bytes | None, turns: tuple[Turn, ...], task: Task) -> Trajectory:
        """Turn the native log into a trajectory.

        Raises:
            OutsideError: The log is missing or empty: a finding, never an empty trajectory.
        """
        ...
