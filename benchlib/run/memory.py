"""The memories of a pair: restored before its arms, destroyed after them, also after a crash.

The journal knows of a restore before it starts and of a destroy after it worked, so
the next start finds every memory that may still be there.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchlib.contracts.attempt import ArmName
from benchlib.contracts.provisioner import MemoryEvidence, ProvisionerCall
from benchlib.errors import InWords, OutsideError
from benchlib.memory import (
    MemoryTools,
    ProvisionerError,
    Restored,
    destroy,
    destroy_after_crash,
    read_after,
    read_back,
    restore,
)
from benchlib.run.journal import attempts
from benchlib.run.runner import ARMS, Attempt, Runner


@dataclass
class Memory:
    """The memory of one arm while the pair runs."""

    identity: str
    working: Path
    restored: Restored | None = None
    evidence: MemoryEvidence | None = None
    failure: ProvisionerError | None = None


@contextlib.contextmanager
def memories_of(
    runner: Runner, attempt: Attempt, calls: list[ProvisionerCall]
) -> Iterator[dict[ArmName, Memory]]:
    """Restore what a pair's conditions ask for; destroy it on the way out, whatever happened.

    Args:
        runner: What all pairs share.
        attempt: The attempt at the pair.
        calls: Gets the record of each call of ``destroy``.

    Yields:
        The memory of each arm that has one; a failed restore is in its ``failure``.
    """
    memories: dict[ArmName, Memory] = {}
    try:
        for name in ARMS:
            condition = runner.plan.condition(attempt.condition(name))
            if condition.memory is not None:
                identity = _identity(attempt, name)
                memories[name] = Memory(identity, runner.work / "m" / identity)
                _restore(runner, attempt, name, memories[name])
        yield memories
    finally:
        for name, memory in memories.items():
            calls += _destroy(runner, attempt, name, memory)


def _identity(attempt: Attempt, name: ArmName) -> str:
    """An opaque name for a memory: same shape in every arm, and it tells nothing."""
    return "r-" + hashlib.sha256(f"{attempt.pair.id}/{attempt.id}/{name}".encode()).hexdigest()[:20]


def _restore(runner: Runner, attempt: Attempt, name: ArmName, memory: Memory) -> None:
    """Restore and read back; a failure is remembered, for the pair becomes void with its reason."""
    fixture = runner.plan.fixtures[attempt.pair.fixture]
    condition = runner.plan.condition(attempt.condition(name))
    if condition.memory is None:
        return
    runner.journal.append(
        "restore-started",
        pair=attempt.pair.id,
        attempt=attempt.id,
        arm=name,
        run_identity=memory.identity,
    )
    try:
        restored = restore(
            runner.provisioner,
            fixture_root=runner.plan.root,
            fixture=fixture,
            graph_arm=condition.memory.graph_arm,
            run_identity=memory.identity,
            working=memory.working,
        )
        memory.restored = restored
        runner.journal.append(
            "restored",
            pair=attempt.pair.id,
            attempt=attempt.id,
            arm=name,
            run_identity=memory.identity,
            project=restored.project,
        )
        memory.evidence = read_back(
            runner.provisioner,
            restored,
            fixture=fixture,
            unspeakable=(runner.plan.cohort.id, attempt.pair.challenge, attempt.pair.fixture),
        )
    except ProvisionerError as error:
        memory.failure = error


def _destroy(
    runner: Runner, attempt: Attempt, name: ArmName, memory: Memory
) -> list[ProvisionerCall]:
    runner.journal.append(
        "destroy-started",
        pair=attempt.pair.id,
        attempt=attempt.id,
        arm=name,
        run_identity=memory.identity,
    )
    project = memory.restored.project if memory.restored else memory.identity
    call = destroy(runner.provisioner, project=project, working=memory.working)
    if call.reason is None:
        shutil.rmtree(memory.working, ignore_errors=True)
        runner.journal.append(
            "destroyed",
            pair=attempt.pair.id,
            attempt=attempt.id,
            arm=name,
            run_identity=memory.identity,
        )
    return [portable(call)]


def serve_memory(
    runner: Runner, memory: Memory | None, stack: contextlib.ExitStack
) -> MemoryTools | None:
    """Start the memory system's tool server beside the runner; the arm sees only the door."""
    if memory is None or memory.failure or memory.restored is None:
        return None
    server = MemoryTools(
        runner.provisioner, project=memory.restored.project, working=memory.working
    )
    return stack.enter_context(server)


def evidence_after(runner: Runner, memory: Memory | None) -> MemoryEvidence | None:
    """Read an arm's memory once more after its agent; the receipt carries both digests."""
    if memory is None or memory.restored is None or memory.evidence is None:
        return None
    evidence = read_after(runner.provisioner, memory.restored, memory.evidence)
    return evidence.model_copy(update={"calls": tuple(map(portable, evidence.calls))})


def portable(call: ProvisionerCall) -> ProvisionerCall:
    """Name the running interpreter as a cohort does, for a receipt holds no path of a machine."""
    argv = tuple("{python}" if part == sys.executable else part for part in call.argv)
    return call.model_copy(update={"argv": argv})


def clean_up_memories(runner: Runner) -> tuple[str, ...]:
    """Destroy every memory that the journal says was restored and not destroyed.

    Returns:
        The run identities of the memories that went.

    Raises:
        OutsideError: A memory can't be destroyed; nothing new is spent while one is left.
    """
    gone = []
    for states in attempts(runner.journal.lines).values():
        for state in states.values():
            for identity, project in state.open_restores.items():
                _destroy_left(runner, state.pair, state.attempt, identity, project)
                gone.append(identity)
    return tuple(gone)


def _destroy_left(
    runner: Runner, pair: str, attempt: str, identity: str, project: str | None
) -> None:
    runner.journal.append("destroy-started", pair=pair, attempt=attempt, run_identity=identity)
    call = destroy_after_crash(
        runner.provisioner,
        run_identity=identity,
        project=project,
        working=runner.work / "m" / identity,
    )
    if call.reason is not None:
        raise OutsideError(
            f"{runner.plan.cohort.provisioner.name}: destroy {project or identity}",
            found=InWords(f"{call.reason}: {call.detail}"),
            allowed="a memory that can be destroyed",
            next_step="end it by hand, then --resume",
        )
    runner.journal.append("destroyed", pair=pair, attempt=attempt, run_identity=identity)
