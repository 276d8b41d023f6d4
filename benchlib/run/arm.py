"""One arm: a fresh sandbox, one door to a model, and afterwards audit, verdict and grades.

Nothing of the arm is alive when its workspace is audited, and the audit comes
before the verifier, so that the verifier's own writes are never blamed on the
agent. An arm that the machine failed is void and has no reward; it is not a zero.
"""

from __future__ import annotations

import dataclasses
import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchlib.agents import PROVIDER_FAILED
from benchlib.contracts.attempt import (
    ArmName,
    ArmReceipt,
    ArmStatus,
    Delivery,
    Launch,
    MutationReport,
    ProcessRecord,
    Use,
    Verdict,
)
from benchlib.contracts.boundaries import (
    Adapter,
    Arm,
    ArmCommand,
    JudgedProcess,
    Sandbox,
    SealedWorkspace,
    Task,
    Turn,
)
from benchlib.contracts.challenge import Challenge
from benchlib.contracts.cohort import Condition
from benchlib.contracts.files import write_atomically
from benchlib.contracts.fixture import Fixture
from benchlib.contracts.paths import path_fault
from benchlib.contracts.plan import OpenPlan
from benchlib.contracts.provisioner import MemoryEvidence
from benchlib.contracts.trajectory import Trajectory
from benchlib.contracts.usage import Usage
from benchlib.errors import OutsideError, escaped
from benchlib.gateway import Answer, CallMemory, Gateway, read_wire, serve, usage_differences
from benchlib.grade import delivered, used, verify
from benchlib.memory import ProvisionerError, fixture_texts
from benchlib.run.audit import audit, known_writer
from benchlib.run.journal import Clock
from benchlib.run.receipts import kept_files

KEPT_OUTPUT_BYTES = 1024 * 1024
"""A changed file up to this size is kept beside the receipt."""

LOG_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class ArmPlan:
    """All that one arm is made from; it is the same for both but for the condition."""

    plan: OpenPlan
    challenge: Challenge
    fixture: Fixture
    sealed: SealedWorkspace
    condition: Condition
    arm: ArmName
    pair: str
    attempt: str
    seed: int
    session: str


@dataclass(frozen=True)
class ArmTools:
    """What `run` hands in: where to run, how to start the agent, who answers it."""

    sandbox: Sandbox
    adapter: Adapter
    answer: Answer | None  # None for an agent without a model
    call_memory: CallMemory | None
    memory: MemoryEvidence | None
    memory_failure: ProvisionerError | None  # then the arm is void before it costs anything
    folder: Path  # of the arm's receipt
    scratch: Path  # fresh, short, removed afterwards
    clock: Clock


@dataclass
class _Observed:
    """What is known so far; a failure keeps what was known before it."""

    launch: Launch | None = None
    turns: tuple[Turn, ...] = ()
    usage: Usage | None = None
    trajectory: Trajectory | None = None
    mutations: MutationReport | None = None
    verdict: Verdict | None = None
    delivery: Delivery | None = None
    use: Use | None = None
    facts_of: Arm | None = None


class ArmVoidError(Exception):
    """An arm that does not count, with its reason code."""

    def __init__(self, reason: str, detail: str) -> None:
        self.reason = reason
        self.detail = detail
        super().__init__(f"{reason}: {detail}")


def run_arm(plan: ArmPlan, tools: ArmTools) -> ArmReceipt:
    """Run one arm to its receipt.

    Args:
        plan: What is run.
        tools: Where and with what.

    Returns:
        The receipt: completed, or void with its reason. It is not yet written.
    """
    started_at = tools.clock()
    seen = _Observed()
    status: ArmStatus = "completed"
    reason, detail = None, ""
    try:
        _act_and_judge(plan, tools, seen)
    except ArmVoidError as error:
        status, reason, detail = "void", error.reason, error.detail
    except OutsideError as error:
        status, reason, detail = "void", "sandbox-failed", str(error)
    return _receipt(plan, tools, seen, started_at, (status, reason, detail))


def _act_and_judge(plan: ArmPlan, tools: ArmTools, seen: _Observed) -> None:
    if tools.memory_failure:
        raise ArmVoidError(tools.memory_failure.reason, str(tools.memory_failure))
    task, door = _task(plan), tools.scratch / "d"
    door.mkdir(parents=True)
    with serve(
        tools.answer,
        socket_path=door / "model.sock",
        record_path=tools.folder / "wire.jsonl",
        token=task.token,
        call_memory=tools.call_memory,
        models=(task.model,),
    ) as gateway:
        arm = tools.sandbox.open_arm(
            plan.sealed,
            plan.challenge.environment,
            agent_files=tools.adapter.agent_files(task),
            door=door if tools.answer or tools.call_memory else None,
        )
        try:
            seen.facts_of = arm
            _take_turns(plan, tools, seen, arm, task)
            seen.usage = _usage(gateway, tools)
            _keep_outputs(tools.folder, seen.turns)
            log = (
                arm.read_home(tools.adapter.log, limit_bytes=LOG_BYTES)
                if tools.adapter.log
                else None
            )
            finished = arm.finished()
            seen.mutations = audit(plan.sealed, finished, plan.challenge.allowed_outputs)
            arm.copy_workspace(tools.scratch / "copy")
        finally:
            arm.close()
    _refuse_provider_failure(seen.turns)
    _keep_changes(tools, seen.mutations)
    seen.trajectory = _trajectory(tools, log, seen.turns, task)
    _grade_memory(plan, tools, seen)
    seen.verdict = _judge(plan, tools)
    if seen.verdict.status == "no-verdict":
        raise ArmVoidError("verifier-no-verdict", seen.verdict.reason)


def _task(plan: ArmPlan) -> Task:
    challenge, cohort = plan.challenge, plan.plan.cohort
    channels = plan.condition.memory.channels if plan.condition.memory else ()
    prompts = (challenge.prompt, challenge.follow_up_prompt)
    return Task(
        prompts=tuple(prompt for prompt in prompts if prompt is not None),
        session=plan.session,
        seed=plan.seed,
        model=cohort.model.name,
        max_steps=cohort.agent.max_steps if cohort.agent.adapter == "react" else 1,
        memory_tools="tool-pull" in channels,
        memory_retrieval="prompt-retrieval" in channels,
        token=secrets.token_hex(16),
    )


def _take_turns(plan: ArmPlan, tools: ArmTools, seen: _Observed, arm: Arm, task: Task) -> None:
    command = tools.adapter.command(task, arm.paths)
    seen.launch = _launch(plan, tools, arm, task, command)
    for argv in command.steps:
        turn = arm.run(
            argv,
            environment=command.environment,
            timeout_seconds=plan.challenge.agent_timeout_seconds,
            output_limit_bytes=plan.plan.cohort.rules.max_output_bytes,
        )
        seen.turns = (*seen.turns, turn)
        if turn.record.timed_out or turn.record.exit_status == PROVIDER_FAILED:
            return  # the next step would resume a session that did not end


def _launch(plan: ArmPlan, tools: ArmTools, arm: Arm, task: Task, command: ArmCommand) -> Launch:
    places = {
        arm.paths.workspace: "{workspace}",
        arm.paths.home: "{home}",
        arm.paths.agent: "{agent}",
        arm.paths.door: "{door}",
    }
    without_token = tools.adapter.agent_files(dataclasses.replace(task, token=""))
    return Launch(
        image=arm.facts.image,
        argv=tuple(tuple(_placed(part, places) for part in step) for step in command.steps),
        environment=tuple(
            (name, _placed(value, places)) for name, value in sorted(command.environment.items())
        ),
        prompts=task.prompts,
        limits=arm.facts.limits,
        agent_timeout_seconds=plan.challenge.agent_timeout_seconds,
        model=model_identity(plan.plan),
        agent_files_sha256=_files_sha256(without_token),
        channels=plan.condition.memory.channels if plan.condition.memory else (),
    )


def _placed(text: str, places: Mapping[str, str]) -> str:
    for place, name in places.items():
        text = text.replace(place, name)
    return text


def _files_sha256(files: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256()
    for name, data in sorted(files.items()):
        digest.update(f"{name}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()


def model_identity(plan: OpenPlan) -> str:
    """Return the model as a receipt names it: a scripted policy by name and digest."""
    model = plan.cohort.model
    return f"{model.name}@{model.policy_sha256}" if model.kind == "scripted" else model.name


def _usage(gateway: Gateway, tools: ArmTools) -> Usage | None:
    return gateway.usage if tools.answer else None


def _keep_outputs(folder: Path, turns: tuple[Turn, ...]) -> None:
    write_atomically(folder / "stdout.txt", b"".join(turn.stdout for turn in turns))
    write_atomically(folder / "stderr.txt", b"".join(turn.stderr for turn in turns))


def _refuse_provider_failure(turns: tuple[Turn, ...]) -> None:
    last = turns[-1]
    if last.record.exit_status == PROVIDER_FAILED:
        tail = escaped(last.stderr.decode(errors="replace")[-1000:])
        raise ArmVoidError("provider-failed", tail or "the agent reported a failing model side")


def _keep_changes(tools: ArmTools, mutations: MutationReport) -> None:
    """Keep the files that the agent added or changed: a stranger may judge them again."""
    copy = tools.scratch / "copy"
    for mutation in mutations.mutations:
        source = copy / mutation.path
        is_made = mutation.change in {"added", "content"} and known_writer(mutation.path) is None
        if not is_made or path_fault(mutation.path):  # caches of tools are no work of the agent
            continue
        is_plain = source.is_file() and not source.is_symlink()
        if is_plain and source.stat().st_size <= KEPT_OUTPUT_BYTES:
            write_atomically(tools.folder / "outputs" / mutation.path, source.read_bytes())


def _trajectory(
    tools: ArmTools, log: bytes | None, turns: tuple[Turn, ...], task: Task
) -> Trajectory:
    try:
        trajectory = tools.adapter.trajectory(log, turns, task)
    except OutsideError as error:
        if turns[-1].record.timed_out:  # it may have had no time for a first line
            raise ArmVoidError("trajectory-missing", f"timed out before a log: {error}") from error
        raise ArmVoidError("trajectory-missing", str(error)) from error
    write_atomically(tools.folder / "trajectory.json", trajectory.canonical())
    return trajectory


def _grade_memory(plan: ArmPlan, tools: ArmTools, seen: _Observed) -> None:
    if seen.trajectory is None:
        return
    wire = tools.folder / "wire.jsonl"
    seen.delivery = delivered(
        seen.trajectory,
        texts=fixture_texts(plan.fixture, plan.plan.root),
        phrases=plan.fixture.delivery_phrases,
        wire=read_wire(wire) if tools.answer else None,
    )
    seen.use = used(seen.trajectory, plan.challenge.use_evidence, seen.delivery)


def _judge(plan: ArmPlan, tools: ArmTools) -> Verdict:
    verifier = plan.challenge.verifier

    def run_verifier(workspace: Path) -> JudgedProcess:
        return tools.sandbox.judge(
            workspace,
            plan.plan.root / verifier.path,
            runtime=verifier.runtime,
            timeout_seconds=verifier.timeout_seconds,
        )

    return verify(tools.scratch / "copy", plan.challenge, run_verifier)


def _receipt(
    plan: ArmPlan,
    tools: ArmTools,
    seen: _Observed,
    started_at: str,
    ending: tuple[ArmStatus, str | None, str],
) -> ArmReceipt:
    status, reason, detail = ending
    records: tuple[ProcessRecord, ...] = tuple(turn.record for turn in seen.turns)
    cohort = plan.plan.cohort
    return ArmReceipt(
        cohort=cohort.id,
        cohort_version=cohort.version,
        lock_sha256=plan.plan.lock.canonical_sha256(),
        pair=plan.pair,
        attempt=plan.attempt,
        arm=plan.arm,
        condition=plan.condition.id,
        status=status,
        reason=reason,
        detail=escaped(detail)[:4000],
        model_kind=cohort.model.kind,
        model=model_identity(plan.plan),
        agent=f"{tools.adapter.name} {tools.adapter.version}",
        started_at=started_at,
        milliseconds=sum(record.milliseconds for record in records),
        launch=seen.launch,
        sandbox=seen.facts_of.facts if seen.facts_of else None,
        processes=records,
        usage=seen.usage,
        usage_differences=_usage_differences(seen),
        steps=len(seen.trajectory.steps) if seen.trajectory else None,
        mutations=seen.mutations,
        verdict=seen.verdict,
        reward=_reward(status, seen),
        delivery=seen.delivery,
        use=seen.use,
        memory=tools.memory,
        failed_memory=tools.memory_failure.calls if tools.memory_failure else (),
        files=kept_files(tools.folder),
    )


def _usage_differences(seen: _Observed) -> tuple[str, ...]:
    """Hold the agent's own totals against the meter, which decides; a log without totals agrees."""
    totals = seen.trajectory.final_metrics if seen.trajectory else None
    if seen.usage is None or totals is None or totals.total_prompt_tokens is None:
        return ()
    cached = totals.total_cached_tokens or 0
    told = seen.usage.model_copy(
        update={
            "input_tokens": totals.total_prompt_tokens - cached,
            "cache_read_tokens": cached,
            "output_tokens": totals.total_completion_tokens or 0,
        }
    )
    return usage_differences(seen.usage, told)


def _reward(status: ArmStatus, seen: _Observed) -> int | None:
    """An undeclared mutation forces zero; a void arm has no reward at all."""
    if status != "completed" or seen.verdict is None or seen.mutations is None:
        return None
    return int(seen.verdict.status == "passed" and not seen.mutations.undeclared)
