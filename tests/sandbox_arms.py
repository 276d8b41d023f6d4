"""What the tests of the sandboxes share: trees to seal, kinds, and ways to run a script."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import pytest

from benchlib.contracts.attempt import Limits
from benchlib.contracts.boundaries import Arm, Sandbox, SealedWorkspace, Turn
from benchlib.contracts.challenge import Environment
from benchlib.contracts.tree import scan_tree, tree_sha256

KINDS = [pytest.param("docker", marks=pytest.mark.docker), "namespace", "none"]
FENCED = KINDS[:2]
PLAIN_ENVIRONMENT = Environment(network="none", milli_cpus=1000, memory_mb=256, max_processes=64)
FILES = {
    "README.md": b"# A project\n",
    "run.sh": b"#!/bin/sh\nexit 0\n",
    "src/app.py": b"ANSWER = 41\n",
    "src/deep/er/module.py": b"",
    "tests/test_app.py": b"import unittest\n",
}
CASES = Path(__file__).resolve().parent / "cases" / "apparatus"


class OpenArm(Protocol):
    def __call__(
        self,
        sandbox: Sandbox,
        *,
        agent_files: Mapping[str, bytes] = ...,
        door: Path | None = ...,
        environment: Environment = ...,
        workspace: SealedWorkspace | None = ...,
    ) -> Arm: ...


def seal_folder(root: Path) -> SealedWorkspace:
    entries = tuple(sorted(scan_tree(root), key=lambda entry: os.fsencode(entry.path)))
    return SealedWorkspace(root, entries, tree_sha256(entries), "0" * 64)


def write_files(root: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)


def shell(arm: Arm, script: str, *, seconds: int = 20, limit: int = 1_000_000) -> Turn:
    return arm.run(
        ("sh", "-c", script), environment={}, timeout_seconds=seconds, output_limit_bytes=limit
    )


def python(arm: Arm, script: str, *, seconds: int = 30) -> Turn:
    return arm.run(
        ("python3", "-c", script),
        environment={},
        timeout_seconds=seconds,
        output_limit_bytes=1_000_000,
    )


NOTHING_HOLDS = Limits(
    milli_cpus=None,
    memory_bytes=None,
    max_processes=None,
    network="unrestricted",
    capabilities_dropped=False,
    no_new_privileges=False,
)
