"""Arms and verifiers in a namespace: the same places as in a container."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from benchlib.contracts.challenge import Environment
from benchlib.sandbox._bubblewrap import NAMESPACE_PATH, Inside, Namespace, run_inside
from benchlib.sandbox._local_arm import Folders, Run
from benchlib.sandbox._places import (
    AGENT,
    DOOR,
    HOME,
    VERDICT,
    VERIFIER,
    WORKSPACE,
    arm_environment,
    judge_environment,
)
from benchlib.sandbox._programs import Ending

_JUDGE_MEMORY_BYTES, _JUDGE_PROCESSES = 2 * 2**30, 1024


def arm_inside(
    namespace: Namespace, folders: Folders, environment: Environment, door: Path | None
) -> Run:
    """Return what runs an arm's programs: a namespace for each, over the same folders."""

    def run(
        argv: tuple[str, ...], added: Mapping[str, str], seconds: float, limit_bytes: int
    ) -> Ending:
        inside = Inside(
            environment={**arm_environment(HOME, NAMESPACE_PATH), **added},
            working_folder=WORKSPACE,
            writable={WORKSPACE: folders.workspace, HOME: folders.home},
            readable={AGENT: folders.agent, **({DOOR: door.resolve()} if door else {})},
            has_network=environment.network == "open",
            memory_bytes=environment.memory_mb * 2**20,
            max_processes=environment.max_processes,
        )
        return run_inside(
            namespace,
            argv,
            inside,
            scratch=folders.root,
            timeout_seconds=seconds,
            output_limit_bytes=limit_bytes,
        )

    return run


def judge_inside(namespace: Namespace, folders: Folders, workspace: Path, verifier: Path) -> Run:
    """Return what runs a verifier: no network, its own folder read-only."""
    inside = Inside(
        environment=judge_environment(HOME, NAMESPACE_PATH),
        working_folder=VERIFIER,
        writable={
            WORKSPACE: workspace.resolve(),
            VERDICT: folders.root / "verdict",
            HOME: folders.home,
        },
        readable={VERIFIER: verifier.resolve()},
        has_network=False,
        memory_bytes=_JUDGE_MEMORY_BYTES,
        max_processes=_JUDGE_PROCESSES,
    )

    def run(
        argv: tuple[str, ...], _added: Mapping[str, str], seconds: float, limit_bytes: int
    ) -> Ending:
        return run_inside(
            namespace,
            argv,
            inside,
            scratch=folders.root,
            timeout_seconds=seconds,
            output_limit_bytes=limit_bytes,
        )

    return run
