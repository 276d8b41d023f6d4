"""One pair, from its first journal line to its receipt. Read this page first.

The order of steps:

1. the attempt is journaled;
2. memory is restored for each arm whose condition has one, and read back by probes;
3. the arms run one after the other, in the order that the pair's seed gives;
4. memory is destroyed, whatever happened;
5. the premise is checked: only the declared channel may differ;
6. the paired outcome and the receipt are written.

Every step that costs something is journaled before it starts. Where the machine
failed, the pair is void with a reason; it is never a zero.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass

import rfc8785

from benchlib.contracts.attempt import ArmName, ArmReceipt
from benchlib.contracts.cohort import PlannedPair
from benchlib.contracts.pair import (
    ArmDigest,
    Change,
    ComparabilityKey,
    PairReceipt,
    PairStatus,
    PremiseReport,
)
from benchlib.contracts.plan import OpenPlan
from benchlib.contracts.provisioner import ProvisionerCall
from benchlib.contracts.reading import Json
from benchlib.errors import escaped
from benchlib.gateway import read_wire
from benchlib.grade import changed
from benchlib.memory import MemoryTools
from benchlib.run.arm import ArmPlan, ArmTools, model_identity, run_arm
from benchlib.run.memory import Memory, evidence_after, memories_of, portable, serve_memory
from benchlib.run.premise import check_premise
from benchlib.run.preparation import Prepared
from benchlib.run.runner import ARMS, Attempt, Runner, arm_order


def run_pair(
    runner: Runner,
    attempt: Attempt,
    *,
    kept_arms: Mapping[ArmName, ArmReceipt] | None = None,
) -> PairReceipt:
    """Run one attempt at a pair.

    Args:
        runner: What all pairs share.
        attempt: The pair, its workspace, and an attempt id that was never used before.
        kept_arms: Arms of an interrupted attempt, where the plan joins halves.

    Returns:
        The receipt, as written: completed, void or, when the run was stopped, interrupted.
    """
    started, started_at = time.monotonic(), runner.clock()
    runner.journal.append("attempt-started", pair=attempt.pair.id, attempt=attempt.id)
    arms: dict[ArmName, ArmReceipt] = dict(kept_arms or {})
    calls: list[ProvisionerCall] = []
    with memories_of(runner, attempt, calls) as memories:
        _run_arms(runner, attempt, memories, arms)
    outcome = _outcome(runner, arms)
    receipt = PairReceipt(
        cohort=runner.plan.cohort.id,
        cohort_version=runner.plan.cohort.version,
        lock_sha256=runner.plan.lock.canonical_sha256(),
        pair=attempt.pair.id,
        challenge=attempt.pair.challenge,
        fixture=attempt.pair.fixture,
        attempt=attempt.id,
        seed=attempt.pair.seed,
        order=arm_order(attempt.pair.seed),
        status=outcome.status,
        reason=outcome.reason,
        detail=escaped(outcome.detail)[:4000],
        key=comparability_key(runner.plan, attempt.pair, attempt.prepared),
        build_under_test=runner.plan.cohort.provisioner.build,
        started_at=started_at,
        milliseconds=int((time.monotonic() - started) * 1000),
        preparation_sha256=attempt.prepared.preparation.canonical_sha256(),
        premise=outcome.premise,
        change=outcome.change,
        arms=arm_digests(arms),
        destroy=tuple(calls),
    )
    sha256 = runner.receipts.write_pair(receipt)
    runner.journal.append(
        "attempt-interrupted" if receipt.status == "interrupted" else "attempt-finished",
        pair=attempt.pair.id,
        attempt=attempt.id,
        reason=receipt.reason,
        sha256=sha256,
    )
    return receipt


def arm_digests(arms: Mapping[ArmName, ArmReceipt]) -> tuple[ArmDigest, ...]:
    """Name the receipts of a pair's arms, control first."""
    return tuple(
        ArmDigest(arm=name, attempt=arms[name].attempt, sha256=arms[name].canonical_sha256())
        for name in ARMS
        if name in arms
    )


def _run_arms(
    runner: Runner,
    attempt: Attempt,
    memories: Mapping[ArmName, Memory],
    arms: dict[ArmName, ArmReceipt],
) -> None:
    """Run what is still missing; nothing more is spent once the pair can't count."""
    broken = [name for name in ARMS if name in memories and memories[name].failure]
    for name in broken or arm_order(attempt.pair.seed):
        is_lost = any(receipt.status != "completed" for receipt in arms.values())
        if name in arms or is_lost or runner.stopping.is_set():
            continue
        receipt = _run_one(runner, attempt, name, memories.get(name))
        if runner.stopping.is_set() and receipt.status == "void":
            ended = {"status": "interrupted", "reason": "interrupted-by-operator"}
            receipt = receipt.model_copy(update=ended)
        arms[name] = receipt
        runner.journal.append(
            "arm-finished",
            pair=attempt.pair.id,
            attempt=attempt.id,
            arm=name,
            reason=receipt.reason,
            sha256=runner.receipts.write_arm(receipt),
        )


def _run_one(runner: Runner, attempt: Attempt, name: ArmName, memory: Memory | None) -> ArmReceipt:
    pair = attempt.pair
    folder = runner.receipts.arm(pair.id, attempt.id, name)
    folder.mkdir(parents=True, exist_ok=True)
    scratch = runner.work / "s" / hashlib.sha256(str(folder).encode()).hexdigest()[:12]
    runner.journal.append("arm-started", pair=pair.id, attempt=attempt.id, arm=name)
    plan = ArmPlan(
        plan=runner.plan,
        challenge=attempt.prepared.challenge,
        fixture=attempt.prepared.fixture,
        sealed=attempt.prepared.sealed,
        condition=runner.plan.condition(attempt.condition(name)),
        arm=name,
        pair=pair.id,
        attempt=attempt.id,
        seed=pair.seed,
        session=hashlib.sha256(f"{pair.id} {pair.seed}".encode()).hexdigest()[:32],
    )
    try:
        with contextlib.ExitStack() as stack:
            server = serve_memory(runner, memory, stack)
            tools = ArmTools(
                sandbox=runner.sandbox,
                adapter=runner.adapter,
                answer=runner.answer,
                call_memory=server.handle if server else None,
                memory=memory.evidence if memory else None,
                memory_failure=memory.failure if memory else None,
                folder=folder,
                scratch=scratch,
                clock=runner.clock,
            )
            receipt = _unless_faulty(run_arm(plan, tools), server)
        after = evidence_after(runner, memory)
        failed = tuple(map(portable, receipt.failed_memory))
        return receipt.model_copy(update={"memory": after, "failed_memory": failed})
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _unless_faulty(receipt: ArmReceipt, server: MemoryTools | None) -> ArmReceipt:
    """Void an arm whose memory failed under it: the agent saw less than the condition says."""
    if server is None or not server.faults or receipt.status != "completed":
        return receipt
    void = {"status": "void", "reason": "memory-tools-failed", "reward": None}
    return receipt.model_copy(update={**void, "detail": escaped("; ".join(server.faults))[:4000]})


@dataclass(frozen=True)
class _Outcome:
    status: PairStatus
    reason: str | None
    detail: str
    premise: PremiseReport | None
    change: Change | None


def _outcome(runner: Runner, arms: Mapping[ArmName, ArmReceipt]) -> _Outcome:
    """Decide what the pair is: completed only with two completed arms and a premise that holds."""
    for name, receipt in arms.items():
        if receipt.status != "completed":
            detail = f"{name}: {receipt.detail}"
            return _Outcome(receipt.status, receipt.reason, detail, None, None)
    if len(arms) < len(ARMS):
        return _Outcome("interrupted", "interrupted-by-operator", "", None, None)
    control, treatment = (arms[name] for name in ARMS)
    premise = _premise(runner, control, treatment)
    if not premise.holds:
        unexplained = [one.field for one in premise.differences if one.explained_by is None]
        return _Outcome("void", "premise-difference", ", ".join(unexplained), premise, None)
    if control.reward is None or treatment.reward is None:
        raise RuntimeError("a completed arm has a reward")
    return _Outcome("completed", None, "", premise, changed(control.reward, treatment.reward))


def _premise(runner: Runner, control: ArmReceipt, treatment: ArmReceipt) -> PremiseReport:
    if control.launch is None or treatment.launch is None:
        raise RuntimeError("a completed arm was launched")
    left, right = (_first_request(runner, receipt) for receipt in (control, treatment))
    both = (left, right) if left is not None and right is not None else None
    return check_premise(control.launch, treatment.launch, first_requests=both)


def _first_request(runner: Runner, receipt: ArmReceipt) -> Mapping[str, Json] | None:
    if runner.answer is None:
        return None
    wire = runner.receipts.arm(receipt.pair, receipt.attempt, receipt.arm) / "wire.jsonl"
    return next(
        (one.request for one in read_wire(wire) if one.path == "/v1/chat/completions"), None
    )


def comparability_key(plan: OpenPlan, pair: PlannedPair, prepared: Prepared) -> ComparabilityKey:
    """Return what two results must share to stand on one line.

    Args:
        plan: The opened plan.
        pair: The planned pair.
        prepared: Its workspace.

    Returns:
        The key; the build under test is not part of it.
    """
    limits: dict[str, str | int] = {
        "environment": prepared.challenge.environment.canonical_sha256(),
        "agent_timeout_seconds": prepared.challenge.agent_timeout_seconds,
        "agent": plan.cohort.agent.canonical_sha256(),
    }
    return ComparabilityKey(
        challenge_sha256=prepared.challenge.canonical_sha256(),
        fixture_sha256=prepared.fixture.canonical_sha256(),
        model=model_identity(plan),
        agent=plan.cohort.agent.adapter,
        control_sha256=plan.condition(pair.control).canonical_sha256(),
        treatment_sha256=plan.condition(pair.treatment).canonical_sha256(),
        manifest_sha256=prepared.sealed.sha256,
        verifier_sha256=prepared.challenge.verifier.sha256,
        source_commit=prepared.preparation.tree.commit,
        limits_sha256=hashlib.sha256(rfc8785.dumps({**limits})).hexdigest(),
    )
