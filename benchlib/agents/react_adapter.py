"""How the kit's own agent is started, and how its journal becomes a trajectory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from benchlib.agents import react
from benchlib.contracts.boundaries import ArmCommand, ArmPaths, Task, Turn
from benchlib.contracts.reading import Json, StrictJsonError, parse
from benchlib.contracts.trajectory import (
    Extra,
    FinalMetrics,
    Observation,
    ObservationResult,
    Provenance,
    Step,
    StepMetrics,
    StepSource,
    ToolCall,
    Trajectory,
    TrajectoryAgent,
)
from benchlib.errors import OutsideError


class ReactAdapter:
    """The ReAct agent of ``react.py``: one file, laid into the arm and run there."""

    name = "react"
    version = react.VERSION
    log: str | None = react.JOURNAL

    def agent_files(self, task: Task) -> Mapping[str, bytes]:
        """Return the agent and its task; the task says nothing of the arm but its tools."""
        document = {
            "prompts": list(task.prompts),
            "model": task.model,
            "seed": task.seed,
            "max_steps": task.max_steps,
            "memory_tools": task.memory_tools,
            "memory_retrieval": task.memory_retrieval,
            "token": task.token,
        }
        return {
            "react.py": Path(react.__file__).read_bytes(),
            "task.json": json.dumps(document, indent=1).encode(),
        }

    def command(self, task: Task, paths: ArmPaths) -> ArmCommand:
        """Return one argv per step of the task."""
        socket = f"{paths.door}/model.sock"
        start = ("python3", f"{paths.agent}/react.py", f"{paths.agent}/task.json")
        steps = range(1, len(task.prompts) + 1)
        return ArmCommand(
            steps=tuple((*start, str(step), socket) for step in steps), environment={}
        )

    def trajectory(self, log: bytes | None, turns: tuple[Turn, ...], task: Task) -> Trajectory:
        """Turn the session's journal into a trajectory.

        Raises:
            OutsideError: The journal is missing or holds no whole line.
        """
        del turns  # the journal says all
        lines = _lines(log or b"")
        if not lines:
            raise OutsideError(
                react.JOURNAL,
                found="no whole line" if log else "no journal",
                allowed="a journal with one line or more",
                next_step="look at the arm's stderr.txt",
            )
        steps = _steps(lines, task.model)
        metrics = [step.metrics for step in steps if step.metrics]
        return Trajectory(
            session_id=task.session,
            agent=TrajectoryAgent(name=self.name, version=self.version, model_name=task.model),
            steps=steps,
            final_metrics=FinalMetrics(
                total_prompt_tokens=sum(one.prompt_tokens or 0 for one in metrics),
                total_completion_tokens=sum(one.completion_tokens or 0 for one in metrics),
                total_steps=len(steps),
            ),
        )


def _lines(log: bytes) -> list[tuple[int, dict[str, Json]]]:
    """Read the journal's lines; a last line that was cut when the agent was killed is left out."""
    lines = []
    for number, text in enumerate(log.splitlines(), start=1):
        try:
            lines.append((number, parse(text)))
        except StrictJsonError:
            break
    return lines


def _steps(lines: list[tuple[int, dict[str, Json]]], model: str) -> tuple[Step, ...]:
    results = {
        str(line.get("call_id")): (number, line)
        for number, line in lines
        if line.get("type") == "result"
    }
    steps: list[Step] = []
    task_step = 1
    for number, line in lines:
        if line.get("type") == "message":
            task_step = _count(line, "task_step") or task_step
            steps.append(_message_step(len(steps) + 1, number, line, task_step))
        elif line.get("type") == "answer":
            where = _Where(len(steps) + 1, number, task_step)
            steps.append(_agent_step(where, line, results, model))
    return tuple(steps)


def _message_step(step_id: int, number: int, line: Mapping[str, Json], task_step: int) -> Step:
    source: StepSource = "user" if line.get("role") == "user" else "system"
    return Step(
        step_id=step_id,
        source=source,
        message=str(line.get("content")),
        extra=_extra(line, (number, number), task_step),
    )


class _Where(NamedTuple):
    step_id: int
    line: int  # of the journal
    task_step: int


def _agent_step(
    where: _Where,
    line: Mapping[str, Json],
    results: Mapping[str, tuple[int, dict[str, Json]]],
    model: str,
) -> Step:
    calls = [call for call in _list(line, "calls") if isinstance(call, dict)]
    answered = [results[str(call["id"])] for call in calls if str(call["id"]) in results]
    usage = line.get("usage")
    return Step(
        step_id=where.step_id,
        source="agent",
        message=str(line.get("content")),
        model_name=model,
        tool_calls=tuple(_call(call) for call in calls) or None,
        observation=_observation(answered, where.task_step) if answered else None,
        metrics=_metrics(usage) if isinstance(usage, dict) else None,
        llm_call_count=1,
        extra=_extra({}, (where.line, where.line), where.task_step),
    )


def _call(call: Mapping[str, Json]) -> ToolCall:
    text = str(call.get("arguments"))
    try:
        arguments = parse(text.encode(errors="replace"))
    except StrictJsonError:
        arguments = {"text": text}  # what the model wrote is kept, though it is no object
    return ToolCall(
        tool_call_id=str(call["id"]), function_name=str(call.get("name")), arguments=arguments
    )


def _observation(answered: list[tuple[int, dict[str, Json]]], task_step: int) -> Observation:
    return Observation(
        results=tuple(
            ObservationResult(
                source_call_id=str(line["call_id"]),
                content=str(line.get("content")),
                extra=_extra(line, (number, number), task_step),
            )
            for number, line in answered
        )
    )


def _metrics(usage: Mapping[str, Json]) -> StepMetrics:
    return StepMetrics(
        prompt_tokens=_count(usage, "prompt_tokens"),
        completion_tokens=_count(usage, "completion_tokens"),
    )


def _extra(line: Mapping[str, Json], log_lines: tuple[int, int], task_step: int) -> Extra:
    channel = line.get("channel")
    return Extra(
        benchlib=Provenance(
            channel="tool-pull"
            if channel == "tool-pull"
            else "prompt-retrieval"
            if channel == "prompt-retrieval"
            else None,
            log_lines=log_lines,
            task_step=task_step,
        )
    )


def _count(line: Mapping[str, Json], name: str) -> int:
    value = line.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def _list(line: Mapping[str, Json], name: str) -> list[Json]:
    value = line.get(name)
    return value if isinstance(value, list) else []
