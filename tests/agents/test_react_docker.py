"""The agent inside the base image: no network, another user, the door mounted in."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from agents.desk import Desk, Notes, task

from benchlib.agents import ReactAdapter
from benchlib.contracts.boundaries import ArmPaths
from benchlib.gateway import Answer

PLACES = ArmPaths(workspace="/workspace", home="/home/agent", agent="/opt/agent", door="/run/door")


@pytest.fixture
def mounted() -> Iterator[Desk]:
    """A desk whose folders the container's user may write; pytest's own are for us alone."""
    with tempfile.TemporaryDirectory() as root:
        desk = Desk(Path(root), memory=Notes())
        for folder in (Path(root), desk.workspace, desk.root / "home"):
            folder.chmod(0o777)
        yield desk


@pytest.mark.docker
def test_the_agent_works_in_a_container_without_network(mounted: Desk, sample: Answer) -> None:
    told = task("How wide is a label?", "Double it.", memory_tools=True)
    for name, data in ReactAdapter().agent_files(told).items():
        (mounted.root / "agent" / name).write_bytes(data)
    with mounted.door(sample):
        for argv in ReactAdapter().command(told, PLACES).steps:
            _in_container(mounted, argv)
    assert (mounted.workspace / "answer.txt").read_text() == "58\n"
    assert (mounted.workspace / "double.txt").read_text() == "twice 58\n"
    assert mounted.trajectory(told).notes == "step 1: finished; step 2: finished"


def _in_container(desk: Desk, argv: tuple[str, ...]) -> None:
    mounts = [
        option
        for name, place in vars(PLACES).items()
        for option in ("--volume", f"{desk.root / name}:{place}{':ro' if name == 'agent' else ''}")
    ]
    subprocess.run(
        [
            *("docker", "run", "--rm", "--init", "--network", "none", "--user", "1000:1000"),
            *("--cap-drop", "ALL", "--workdir", "/workspace", "--env", "HOME=/home/agent"),
            *mounts,
            "benchlib/base:bookworm",
            *argv,
        ],
        check=True,
        capture_output=True,
        timeout=120,
        env={"PATH": os.environ["PATH"]},
    )
