"""An interrupted attempt is still an attempt: it gets a receipt, with what is known of its cost."""

from __future__ import annotations

from benchlib.contracts.attempt import ArmName, ArmReceipt
from benchlib.contracts.cohort import PlannedPair
from benchlib.contracts.pair import PairReceipt
from benchlib.contracts.usage import Usage
from benchlib.gateway import read_wire, usage_of
from benchlib.run.arm import model_identity
from benchlib.run.journal import AttemptState
from benchlib.run.pair import arm_digests, comparability_key
from benchlib.run.preparation import Prepared
from benchlib.run.receipts import kept_files
from benchlib.run.runner import ARMS, Runner, arm_order

_DETAIL = "the runner ended before this did"


def record_interrupted(
    runner: Runner, pair: PlannedPair, state: AttemptState, prepared: Prepared
) -> PairReceipt:
    """Put an unfinished attempt on record.

    A receipt that was written just before the crash is kept as it is: what was paid
    for is never lost. Otherwise each arm that had begun is recorded as interrupted.

    Args:
        runner: What all pairs share.
        pair: The planned pair.
        state: What the journal knows of the attempt.
        prepared: The pair's workspace.

    Returns:
        The pair's receipt, as it now lies on disk.
    """
    receipt = runner.receipts.read_pair(pair.id, state.attempt)
    if receipt is None:
        receipt = _interrupted_pair(runner, pair, state, prepared)
        runner.receipts.write_pair(receipt)
    runner.journal.append(
        "attempt-interrupted" if receipt.status == "interrupted" else "attempt-finished",
        pair=pair.id,
        attempt=state.attempt,
        reason=receipt.reason,
        sha256=receipt.canonical_sha256(),
    )
    return receipt


def _interrupted_pair(
    runner: Runner, pair: PlannedPair, state: AttemptState, prepared: Prepared
) -> PairReceipt:
    arms = {name: _arm(runner, pair, state, name) for name in ARMS if name in state.arms_started}
    started_at = next(
        line.at
        for line in runner.journal.lines
        if (line.pair, line.attempt) == (pair.id, state.attempt)
    )
    return PairReceipt(
        cohort=runner.plan.cohort.id,
        cohort_version=runner.plan.cohort.version,
        lock_sha256=runner.plan.lock.canonical_sha256(),
        pair=pair.id,
        challenge=pair.challenge,
        fixture=pair.fixture,
        attempt=state.attempt,
        seed=pair.seed,
        order=arm_order(pair.seed),
        status="interrupted",
        reason="interrupted",
        detail=_DETAIL,
        key=comparability_key(runner.plan, pair, prepared),
        build_under_test=runner.plan.cohort.provisioner.build,
        started_at=started_at,
        milliseconds=0,
        preparation_sha256=prepared.preparation.canonical_sha256(),
        premise=None,
        change=None,
        arms=arm_digests(arms),
        destroy=(),
    )


def _arm(runner: Runner, pair: PlannedPair, state: AttemptState, name: ArmName) -> ArmReceipt:
    written = runner.receipts.read_arm(pair.id, state.attempt, name)
    if written is not None:
        return written
    folder = runner.receipts.arm(pair.id, state.attempt, name)
    cohort = runner.plan.cohort
    started_at = next(
        line.at
        for line in runner.journal.lines
        if (line.event, line.pair, line.attempt, line.arm)
        == ("arm-started", pair.id, state.attempt, name)
    )
    receipt = ArmReceipt(
        cohort=cohort.id,
        cohort_version=cohort.version,
        lock_sha256=runner.plan.lock.canonical_sha256(),
        pair=pair.id,
        attempt=state.attempt,
        arm=name,
        condition=getattr(pair, name),
        status="interrupted",
        reason="interrupted",
        detail=_DETAIL,
        model_kind=cohort.model.kind,
        model=model_identity(runner.plan),
        agent=f"{runner.adapter.name} {runner.adapter.version}",
        started_at=started_at,
        milliseconds=0,
        launch=None,
        sandbox=None,
        processes=(),
        usage=_known_usage(runner, pair, state, name),
        steps=None,
        mutations=None,
        verdict=None,
        reward=None,
        delivery=None,
        use=None,
        memory=None,
        files=kept_files(folder) if folder.is_dir() else (),
    )
    runner.receipts.write_arm(receipt)
    return receipt


def _known_usage(
    runner: Runner, pair: PlannedPair, state: AttemptState, name: ArmName
) -> Usage | None:
    """Add up what the wire had recorded when the runner died; None when it recorded nothing."""
    wire = runner.receipts.arm(pair.id, state.attempt, name) / "wire.jsonl"
    return usage_of(read_wire(wire, cut_is_expected=True)) if wire.exists() else None
