"""Real sandboxes of each kind, and a tree to seal."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import docker
import pytest
from sandbox_arms import FILES, PLAIN_ENVIRONMENT, OpenArm, seal_folder, write_files

from benchlib.contracts.boundaries import Arm, Sandbox, SealedWorkspace
from benchlib.contracts.challenge import Environment
from benchlib.sandbox import DockerSandbox, LocalSandbox


@pytest.fixture
def sealed(tmp_path: Path) -> SealedWorkspace:
    root = tmp_path / "sealed"
    write_files(root, FILES)
    (root / "run.sh").chmod(0o755)
    (root / "latest").symlink_to("src/app.py")
    return seal_folder(root)


@pytest.fixture
def make_sandbox() -> Iterator[Callable[..., Sandbox]]:
    """Make sandboxes of a kind; everything of their labels is removed at the end."""
    made: list[Sandbox] = []

    def make(
        kind: str,
        *,
        label: str = f"test-{os.getpid()}",
        scratch: Path | None = None,
        **more: object,
    ) -> Sandbox:
        if kind == "docker":
            sandbox: Sandbox = DockerSandbox(label, **more)
        else:
            nothing: Callable[[Path], tuple[str, ...]] = lambda _folder: ()  # noqa: E731
            more = {"auto_loaded": nothing, **more}
            sandbox = LocalSandbox(label, scratch_root=scratch, isolation=kind, **more)
        made.append(sandbox)
        return sandbox

    yield make
    for sandbox in made:
        sandbox.remove_leftovers()


@pytest.fixture
def open_arm(sealed: SealedWorkspace) -> Iterator[OpenArm]:
    """Open arms on the sealed workspace and close them at the end."""
    opened: list[Arm] = []

    def open_one(
        sandbox: Sandbox,
        *,
        agent_files: Mapping[str, bytes] = {},
        door: Path | None = None,
        environment: Environment = PLAIN_ENVIRONMENT,
        workspace: SealedWorkspace | None = None,
    ) -> Arm:
        arm = sandbox.open_arm(workspace or sealed, environment, agent_files=agent_files, door=door)
        opened.append(arm)
        return arm

    yield open_one
    for arm in opened:
        arm.close()


@pytest.fixture
def engine() -> Iterator[docker.DockerClient]:
    client = docker.from_env()
    yield client
    client.close()
