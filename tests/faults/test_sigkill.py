"""SIGKILL of the runner, at every step of a pair and at a hundred random moments.

After each kill the run is resumed. Then: nothing paid is lost, nothing is counted
twice, each attempt is on record, memory is destroyed, no process and no container
is left.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import docker
import pytest
from cohort_builder import ROOT, CohortSpec, frozen, sandbox_named

from benchlib.run import ReceiptFolder, run_label
from benchlib.run.journal import Journal, attempts

STEPS = (
    "attempt-started",
    "restore-started",
    "restored",
    "arm-started",
    "arm-finished",
    "destroy-started",
    "destroyed",
    "attempt-finished",
)

# A mark of its own on the agent's process: the test looks for it in the process table.
MARK = f"kill-test-agent-{os.getpid()}"  # another worker has another
AGENT = f"echo 58 > answer.txt; sleep 0.15; : {MARK}"


def _start(cohort: Path, receipts: Path, sandbox: str, *, jobs: int = 1) -> subprocess.Popen[bytes]:
    argv = [sys.executable, "-m", "benchlib", "run", str(cohort)]
    argv += ["--sandbox", sandbox, "--output", str(receipts), "--resume", "--jobs", str(jobs)]
    return subprocess.Popen(
        argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=ROOT, start_new_session=True
    )


def _kill(process: subprocess.Popen[bytes]) -> None:
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()


def _events(receipts: Path) -> list[str]:
    path = receipts / "journal.jsonl"
    if not path.exists():
        return []
    whole = path.read_bytes().rpartition(b"\n")[0]
    return [json.loads(line)["event"] for line in whole.splitlines()]


def _wait_for(process: subprocess.Popen[bytes], receipts: Path, event: str, count: int) -> bool:
    """Wait until an event stands in the journal for the count-th time; False if the run ended."""
    while process.poll() is None:
        if Counter(_events(receipts))[event] >= count:
            return True
        time.sleep(0.002)
    return False


def _finish(cohort: Path, receipts: Path, sandbox: str) -> None:
    process = _start(cohort, receipts, sandbox, jobs=4)
    _, stderr = process.communicate(timeout=240)
    assert process.returncode == 0, stderr.decode()


def _check(receipts: Path, pairs: int, *, memory_folder: Path) -> None:
    folder = ReceiptFolder(receipts)
    with Journal(folder.journal) as journal:
        lines = list(journal.lines)
    states = attempts(lines)
    assert len(states) == pairs
    for pair, of_pair in states.items():
        numbers = [int(attempt[1:]) for attempt in of_pair]
        assert numbers == list(range(1, len(numbers) + 1)), "attempt ids are never used twice"
        outcomes = []
        for attempt, state in of_pair.items():
            assert state.is_finished, f"{pair} {attempt} is on record"
            assert not state.open_restores, f"the memory of {pair} {attempt} was destroyed"
            receipt = folder.read_pair(pair, attempt)
            assert receipt is not None
            assert receipt.canonical_sha256() == state.receipt_sha256
            outcomes.append(receipt.status)
            for arm in state.arms_started:
                kept = folder.read_arm(pair, attempt, arm)
                assert kept is not None, "each arm that had begun has a receipt"
                digests = {one.arm: one.sha256 for one in receipt.arms}
                assert digests[arm] == kept.canonical_sha256()
            for arm, sha256 in state.arms_finished.items():
                kept = folder.read_arm(pair, attempt, arm)
                assert kept is not None
                assert kept.canonical_sha256() == sha256, "what was paid for is as it was"
        assert outcomes.count("completed") == 1, "each pair counts once"
        assert outcomes[-1] == "completed"
    assert not memory_folder.exists() or not any(memory_folder.rglob("memory.sqlite"))


def _no_agent_left() -> None:
    """The runner's death ends its arms; a moment is allowed for the kernel to do it."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        table = subprocess.run(
            ["ps", "axww", "-o", "args"], capture_output=True, text=True, check=True
        )
        if MARK not in table.stdout:
            return
        time.sleep(0.1)
    pytest.fail("an agent outlived the runner")


def _memory_folder(receipts: Path) -> Path:
    return Path(tempfile.gettempdir()) / f"m-{run_label(receipts / 'journal.jsonl')}"


def _frozen(root: Path, *, pairs: int) -> Path:
    box = sandbox_named("namespace", run_label(root / "freeze"))
    frozen(root, CohortSpec(agent=("sh", "-c", AGENT), pairs=pairs), box)
    return root


@pytest.mark.slow
def test_a_kill_at_every_step_of_a_pair_loses_nothing_and_counts_nothing_twice(
    tmp_path: Path,
) -> None:
    cohort = _frozen(tmp_path / "cohort", pairs=2)
    receipts = tmp_path / "receipts"
    for step in STEPS:
        count = Counter(_events(receipts))[step] + 1
        process = _start(cohort, receipts, "local")
        _wait_for(process, receipts, step, count)
        _kill(process)
        _no_agent_left()
    _finish(cohort, receipts, "local")
    _check(receipts, 2, memory_folder=_memory_folder(receipts))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_fifty_kills_at_random_moments_lose_nothing_and_count_nothing_twice(
    seed: int, tmp_path: Path
) -> None:
    cohort = _frozen(tmp_path / "cohort", pairs=24)
    receipts = tmp_path / "receipts"
    chance = random.Random(seed)
    for kill in range(50):
        process = _start(cohort, receipts, "local")
        # Counted in lines of the journal, a moment is as likely late in a pair as early.
        moment = len(_events(receipts)) + chance.randint(1, 14)
        while process.poll() is None and len(_events(receipts)) < moment:
            time.sleep(0.005)
        time.sleep(chance.uniform(0, 0.3))
        assert process.poll() is None, f"the run ended before kill {kill}; give it more pairs"
        _kill(process)
    _no_agent_left()
    _finish(cohort, receipts, "local")
    _check(receipts, 24, memory_folder=_memory_folder(receipts))


@pytest.mark.slow
@pytest.mark.docker
def test_a_kill_under_docker_leaves_no_container_and_touches_no_other_runs(tmp_path: Path) -> None:
    cohort = _frozen(tmp_path / "cohort", pairs=1)
    receipts = tmp_path / "receipts"
    client = docker.from_env()
    other = client.containers.run(
        "benchlib/base:bookworm", ["sleep", "600"], detach=True, init=True, network_mode="none"
    )
    try:
        for step in ("arm-started", "arm-finished", "destroy-started"):
            count = Counter(_events(receipts))[step] + 1
            process = _start(cohort, receipts, "docker")
            assert _wait_for(process, receipts, step, count)
            time.sleep(0.1)
            _kill(process)
        _finish(cohort, receipts, "docker")
        _check(receipts, 1, memory_folder=_memory_folder(receipts))
        left = [one.id for one in client.containers.list(all=True)]
        mine = sandbox_named("docker", run_label(receipts / "journal.jsonl"))
        assert mine.remove_leftovers() == ()
        assert other.id in left, "a container of somebody else is not touched"
    finally:
        other.remove(force=True)
        client.close()


def test_resuming_a_finished_run_changes_nothing_but_the_journal(tmp_path: Path) -> None:
    cohort = _frozen(tmp_path / "cohort", pairs=1)
    receipts = tmp_path / "receipts"
    _finish(cohort, receipts, "local")

    def contents() -> dict[str, bytes]:
        return {
            str(path): path.read_bytes()
            for path in receipts.rglob("*")
            if path.is_file() and path.name != "journal.jsonl"
        }

    before, lines_before = contents(), len(_events(receipts))
    for _ in range(2):
        _finish(cohort, receipts, "local")
    assert contents() == before
    added = _events(receipts)[lines_before:]
    assert set(added) == {"run-started", "run-finished"}
