"""A whole cohort: preflight, clean up after a crash, prepare, run the pairs that are missing.

On a start with a journal that is there already, in this order and before anything
is spent: memories that a crashed run left are destroyed, its sandboxes are removed
by their label, its unfinished attempts get a receipt that says *interrupted*. Doing
so twice changes nothing more. Each pair without a valid attempt then gets a new one.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchlib.agents import adapter_for
from benchlib.contracts.attempt import ArmName, ArmReceipt
from benchlib.contracts.boundaries import Sandbox
from benchlib.contracts.cohort import PlannedPair, Provisioner
from benchlib.contracts.pair import PairReceipt
from benchlib.contracts.plan import OpenPlan
from benchlib.errors import DriftError, InputError, InWords, RefusedError
from benchlib.gateway import Answer, scripted_answer
from benchlib.run.interrupted import record_interrupted
from benchlib.run.journal import AttemptState, Clock, Journal, attempts, utc_now
from benchlib.run.memory import clean_up_memories
from benchlib.run.pair import run_pair
from benchlib.run.preparation import Prepared, prepare_workspace
from benchlib.run.receipts import ReceiptFolder, write_contract
from benchlib.run.runner import Attempt, Runner

Progress = Callable[[str], None]


@dataclass(frozen=True)
class RunSummary:
    """What a run did, by pair."""

    planned: int
    completed: int
    void: Mapping[str, int]  # by reason, of each pair's latest attempt
    interrupted: int
    ran_now: int
    seconds: float

    def in_words(self) -> str:
        """Return the summary as a sentence."""
        voids = ", ".join(f"{count} {reason}" for reason, count in sorted(self.void.items()))
        parts = [f"{self.completed} of {self.planned} pairs completed"]
        parts += [f"void: {voids}"] if voids else []
        parts += [f"{self.interrupted} interrupted"] if self.interrupted else []
        return f"{'; '.join(parts)} ({self.ran_now} attempts now, {self.seconds:.0f} s)"


def run_label(journal: Path) -> str:
    """Return the label of a run's sandboxes: the same after a crash, another for another run."""
    return hashlib.sha256(str(journal.resolve()).encode()).hexdigest()[:12]


def run_cohort(
    plan: OpenPlan,
    *,
    sandbox: Sandbox,
    receipts: Path,
    resume: bool,
    jobs: int,
    progress: Progress,
    clock: Clock = utc_now,
) -> RunSummary:
    """Run every pair of a cohort that has no valid attempt yet.

    Args:
        plan: The opened plan.
        sandbox: Where arms run; labelled with ``run_label``.
        receipts: The folder of this cohort version's receipts.
        resume: Whether a journal that is there is continued.
        jobs: How many pairs run at once, 1 or more.
        progress: Told of each step, one line at a time.
        clock: Gives the time of journal lines and receipts.

    Returns:
        What was done.

    Raises:
        InputError: A journal is there and ``resume`` is False, or it is damaged.
        RefusedError: A gate said no, or another runner holds the journal.
        OutsideError: The sandbox is not usable at all.
    """
    started = time.monotonic()
    folder = ReceiptFolder(receipts)
    if folder.journal.exists() and not resume:
        raise InputError(
            str(folder.journal),
            found=InWords("a journal of an earlier run"),
            allowed="a new folder, or a run that is continued",
            next_step="add --resume to continue it, or choose another --output",
        )
    with Journal(folder.journal, clock) as journal:
        runner = _runner(plan, sandbox, journal, folder, clock)
        journal.append("run-started")
        if journal.set_aside:
            progress(f"the journal's last line was cut; its bytes are in {journal.set_aside}")
        _clean_up(runner, progress)
        prepared = _prepare_all(runner, progress)
        _record_interrupted(runner, prepared, progress)
        ran = _run_missing(runner, prepared, jobs, progress)
        journal.append("run-finished")
        shutil.rmtree(runner.work, ignore_errors=True)
        return _summary(plan, folder, journal, ran, time.monotonic() - started)


def _runner(
    plan: OpenPlan, sandbox: Sandbox, journal: Journal, folder: ReceiptFolder, clock: Clock
) -> Runner:
    work = Path(tempfile.gettempdir()) / f"m-{run_label(folder.journal)}"
    work.mkdir(mode=0o700, exist_ok=True)
    return Runner(
        plan=plan,
        sandbox=sandbox,
        adapter=adapter_for(plan.cohort.agent),
        answer=_answer(plan),
        provisioner=resolved(plan.cohort.provisioner),
        journal=journal,
        receipts=folder,
        work=work,
        stopping=threading.Event(),
        clock=clock,
    )


def _answer(plan: OpenPlan) -> Answer | None:
    return partial(scripted_answer, plan.policy) if plan.policy else None


def resolved(provisioner: Provisioner) -> Provisioner:
    """Put the running interpreter where a provisioner's argv says ``{python}``."""

    def placed(argv: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(sys.executable if part == "{python}" else part for part in argv)

    return provisioner.model_copy(
        update={"argv": placed(provisioner.argv), "serve": placed(provisioner.serve)}
    )


def _clean_up(runner: Runner, progress: Progress) -> None:
    """Remove what a crashed run left; before anything is spent, and only what is ours."""
    gone = [*clean_up_memories(runner), *runner.sandbox.remove_leftovers()]
    shutil.rmtree(runner.work / "s", ignore_errors=True)
    shutil.rmtree(runner.work / "t", ignore_errors=True)
    if gone:
        runner.journal.append("leftovers-removed", detail=", ".join(gone)[:4000])
        progress(f"removed left-overs of an earlier run: {', '.join(gone)}")


def _prepare_all(runner: Runner, progress: Progress) -> dict[tuple[str, str], Prepared]:
    """Prepare, compare with the lock, and load every workspace that a pair needs."""
    plan = runner.plan
    needed = sorted({(pair.challenge, pair.fixture) for pair in plan.cohort.pairs})
    for challenge in sorted({challenge for challenge, _ in needed}):
        runner.sandbox.preflight(plan.challenges[challenge].environment)
    prepared = {}
    for challenge, fixture in needed:
        progress(f"preparing {challenge} on {fixture}")
        one = prepare_workspace(
            plan.cohort,
            plan.challenges[challenge],
            plan.fixtures[fixture],
            root=plan.root,
            work=runner.work,
            sandbox=runner.sandbox,
        )
        _refuse_other_tree(plan, one)
        runner.sandbox.load(one.sealed)
        write_contract(runner.receipts.preparation(challenge, fixture), one.preparation)
        prepared[challenge, fixture] = one
    return prepared


def _refuse_other_tree(plan: OpenPlan, prepared: Prepared) -> None:
    pinned = {(tree.challenge, tree.fixture): tree.sealed_sha256 for tree in plan.lock.trees}
    expected = pinned.get((prepared.challenge.id, prepared.fixture.id))
    if expected != prepared.sealed.sha256:
        raise DriftError(
            f"the workspace of {prepared.challenge.id} on {prepared.fixture.id}",
            "tree digest",
            found=prepared.sealed.sha256,
            allowed=f"{expected}, as frozen",
            next_step="restore the corpus, or freeze a new version that says why",
        )


def _record_interrupted(
    runner: Runner, prepared: Mapping[tuple[str, str], Prepared], progress: Progress
) -> None:
    pairs = {pair.id: pair for pair in runner.plan.cohort.pairs}
    for pair_id, states in attempts(runner.journal.lines).items():
        if pair_id not in pairs:
            raise DriftError(
                str(runner.receipts.journal),
                found=InWords(f"the pair {pair_id!r}"),
                allowed="the pairs of this cohort version",
                next_step="use another --output for another version",
            )
        pair = pairs[pair_id]
        for state in states.values():
            if not state.is_finished:
                one = prepared[pair.challenge, pair.fixture]
                record_interrupted(runner, pair, state, one)
                progress(f"{pair.id} {state.attempt}: interrupted, kept on record")


def _run_missing(
    runner: Runner,
    prepared: Mapping[tuple[str, str], Prepared],
    jobs: int,
    progress: Progress,
) -> int:
    """Run the missing pairs on a bounded pool; Ctrl-C leaves a state that can be resumed."""
    waiting = [pair for pair in runner.plan.cohort.pairs if next_attempt(runner, pair)]
    total, done, started = len(waiting), 0, time.monotonic()
    running: set[Future[PairReceipt]] = set()
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        try:
            while waiting or running:
                while waiting and len(running) < jobs:
                    pair = waiting.pop(0)
                    running.add(pool.submit(_run_next, runner, pair, prepared))
                finished, running = wait(running, return_when=FIRST_COMPLETED)
                for future in finished:
                    receipt = future.result()
                    done += 1
                    progress(_line(receipt, done, total, time.monotonic() - started))
                    pair = _planned(runner, receipt.pair)
                    if receipt.status == "void" and next_attempt(runner, pair):
                        waiting.append(pair)
                        total += 1
        except BaseException:
            runner.stopping.set()
            progress("stopping: arms under way are ended and kept as interrupted; use --resume")
            runner.sandbox.remove_leftovers()
            raise
    return done


def _planned(runner: Runner, pair_id: str) -> PlannedPair:
    return next(pair for pair in runner.plan.cohort.pairs if pair.id == pair_id)


def _run_next(
    runner: Runner, pair: PlannedPair, prepared: Mapping[tuple[str, str], Prepared]
) -> PairReceipt:
    attempt = next_attempt(runner, pair)
    if attempt is None:
        raise RuntimeError(f"{pair.id} needs no attempt")
    one = Attempt(pair, attempt, prepared[pair.challenge, pair.fixture])
    return run_pair(runner, one, kept_arms=_kept_halves(runner, pair))


def next_attempt(runner: Runner, pair: PlannedPair) -> str | None:
    """Return the id of the attempt that a pair needs next, or None when it needs none.

    An interrupted attempt is always followed by another. A void one is only where the
    plan lists its reason, and at most as often as the plan allows.
    """
    states = list(attempts(runner.journal.lines).get(pair.id, {}).values())
    if not states:
        return "a1"
    following = f"a{len(states) + 1}"
    rules = runner.plan.cohort.rules
    receipt = runner.receipts.read_pair(pair.id, states[-1].attempt)
    if receipt is None or receipt.status == "interrupted":
        return following
    voids = sum(1 for state in states if state.reason and not _was_interrupted(state))
    may_retry = receipt.status == "void" and receipt.reason in rules.retry_reasons
    return following if may_retry and voids < rules.max_attempts else None


def _was_interrupted(state: AttemptState) -> bool:
    return (state.reason or "").startswith("interrupted")


def _kept_halves(runner: Runner, pair: PlannedPair) -> dict[ArmName, ArmReceipt]:
    """Completed arms of interrupted attempts, if the plan allows halves to be joined."""
    if not runner.plan.cohort.rules.joins_halves:
        return {}
    kept: dict[ArmName, ArmReceipt] = {}
    for state in attempts(runner.journal.lines).get(pair.id, {}).values():
        for arm in state.arms_finished:
            receipt = runner.receipts.read_arm(pair.id, state.attempt, arm)
            if receipt is not None and receipt.status == "completed":
                kept[arm] = receipt
    return kept


def _line(receipt: PairReceipt, done: int, total: int, seconds: float) -> str:
    left = seconds / done * (total - done)
    if receipt.change is not None:
        words = (
            f"control {receipt.change.control_reward}, treatment {receipt.change.treatment_reward}"
        )
    else:
        words = f"{receipt.status}: {receipt.reason}"
    return f"[{done}/{total}] {receipt.pair} {receipt.attempt}: {words} (about {left:.0f} s left)"


def _summary(
    plan: OpenPlan, folder: ReceiptFolder, journal: Journal, ran: int, seconds: float
) -> RunSummary:
    void: dict[str, int] = {}
    completed = interrupted = 0
    states = attempts(journal.lines)
    for pair in plan.cohort.pairs:
        of_pair = list(states.get(pair.id, {}))
        receipt = folder.read_pair(pair.id, of_pair[-1]) if of_pair else None
        if receipt is None or receipt.status == "interrupted":
            interrupted += 1
        elif receipt.status == "completed":
            completed += 1
        else:
            void[receipt.reason or ""] = void.get(receipt.reason or "", 0) + 1
    return RunSummary(len(plan.cohort.pairs), completed, void, interrupted, ran, seconds)


def default_jobs() -> int:
    """Return how many pairs run at once by default: one per core, for most of it is waiting."""
    return os.cpu_count() or 1


def refuse_isolation(plan: OpenPlan, isolation: str) -> None:
    """Refuse a sandbox that the plan did not declare to be enough.

    Raises:
        RefusedError: The plan does not list this isolation.
    """
    allowed = plan.cohort.rules.allowed_isolation
    if isolation not in allowed:
        raise RefusedError(
            str(plan.root / "cohort.json"),
            "rules.allowed_isolation",
            found=isolation,
            allowed=", ".join(allowed),
            next_step="use --sandbox docker, or declare this isolation in a new version",
        )
