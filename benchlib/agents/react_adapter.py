"""How the kit's own agent is started, and how its journal becomes a trajectory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue

from benchlib.agents import react
from benchlib.contracts.boundaries import ArmCommand, ArmPaths, Task, Turn
from benchlib.contracts.foreign import as_foreign
from benchlib.contracts.reading import Json, StrictJsonError, parse
from benchlib.contracts.trajectory import (
    DeliveryChannel,
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
        """Return the agent and its task; the task says nothing of the arm but its tools.

        Args:
            task: What the agent is told.

        Returns:
            ``react.py`` and ``task.json``.
        """
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
        """Return one argv per step of the task.

        Args:
            task: What the agent is told.
            paths: Places as the agent sees them.

        Returns:
            One argv for each prompt; the environment of the arm is left as it is.
        """
        socket = f"{paths.door}/model.sock"
        # -I: nothing that an agent left in its home may stand in for the standard library.
        start = ("python3", "-I", f"{paths.agent}/react.py", f"{paths.agent}/task.json")
        steps = range(1, len(task.prompts) + 1)
        return ArmCommand(
            steps=tuple((*start, str(step), socket) for step in steps), environment={}
        )

    def trajectory(self, log: bytes | None, turns: tuple[Turn, ...], task: Task) -> Trajectory:
        """Turn the session's journal into a trajectory.

        The journal lies where the agent can write, so only the given prompts are *user*: a
        user line that is none of them is the agent's own. A cut last line and damaged lines
        are left out and named in the notes.

        Args:
            log: The journal.
            turns: Not used; the journal says all.
            task: What the agent was told.

        Returns:
            The session, with the tokens of each answer.

        Raises:
            OutsideError: The journal is missing, or no line of it makes a step.
        """
        del turns
        lines, damaged = _lines(log or b"")
        steps = _steps(lines, task)
        if not steps:
            raise OutsideError(
                react.JOURNAL,
                found="no line that says anything" if log else "no journal",
                allowed="a journal with one message or more",
                next_step="look at the arm's stderr.txt",
            )
        return Trajectory(
            session_id=task.session,
            agent=TrajectoryAgent(
                name=self.name,
                version=self.version,
                model_name=task.model,
                tool_definitions=_tool_definitions(lines),
            ),
            steps=steps,
            notes=_notes(lines, damaged),
            final_metrics=_final_metrics(steps),
        )


_Lines = list[tuple[int, dict[str, Json]]]


def _lines(log: bytes) -> tuple[_Lines, list[int]]:
    """Read the journal's lines; the second value has the numbers of those that can't be read."""
    lines: _Lines = []
    damaged = []
    for number, text in enumerate(log.splitlines(), start=1):
        try:
            lines.append((number, parse(text)))
        except StrictJsonError:
            damaged.append(number)
    return lines, damaged


def _notes(lines: _Lines, damaged: list[int]) -> str | None:
    """Say how each step of the task ended, and what could not be read."""
    notes = [
        f"step {_count(line, 'task_step')}: {line.get('reason')}"
        for _, line in lines
        if line.get("type") == "end"
    ]
    if damaged:
        numbers = ", ".join(str(number) for number in damaged[:20])
        notes.append(f"{len(damaged)} journal lines were cut or damaged and left out: {numbers}")
    return "; ".join(notes) or None


def _tool_definitions(lines: _Lines) -> tuple[dict[str, JsonValue], ...] | None:
    """Return the tools of the session as the model was offered them."""
    session = next((line for _, line in lines if line.get("type") == "session"), {})
    tools = [as_foreign(tool) for tool in _list(session, "tools")]
    return tuple(tool for tool in tools if isinstance(tool, dict)) or None


def _final_metrics(steps: tuple[Step, ...]) -> FinalMetrics:
    metrics = [step.metrics for step in steps if step.metrics]
    return FinalMetrics(
        total_prompt_tokens=sum(one.prompt_tokens or 0 for one in metrics),
        total_completion_tokens=sum(one.completion_tokens or 0 for one in metrics),
        total_cached_tokens=sum(one.cached_tokens or 0 for one in metrics),
        total_steps=len(steps),
    )


def _steps(lines: _Lines, task: Task) -> tuple[Step, ...]:
    steps: list[Step] = []
    task_step = 1
    for place, (number, line) in enumerate(lines):
        if line.get("type") == "message":
            task_step = _count(line, "task_step") or task_step
            steps.append(_message_step(len(steps) + 1, number, line, task_step, task))
        elif line.get("type") == "answer":
            where = _Where(len(steps) + 1, number, task_step)
            steps.append(_agent_step(where, line, _results_of(lines[place + 1 :]), task.model))
    return tuple(steps)


def _results_of(following: _Lines) -> dict[str, tuple[int, dict[str, Json]]]:
    """Return the results before the next answer: ids may come again in a session."""
    own = takewhile(lambda numbered: numbered[1].get("type") != "answer", following)
    return {
        str(line.get("call_id")): (number, line)
        for number, line in own
        if line.get("type") == "result"
    }


def _message_step(
    step_id: int, number: int, line: Mapping[str, Json], task_step: int, task: Task
) -> Step:
    message = str(line.get("content"))
    source: StepSource = "system"
    if line.get("role") == "user":
        source = "user" if message == _prompt(task, task_step) else "agent"
    return Step(
        step_id=step_id,
        source=source,
        message=message,
        extra=_extra(line, (number, number), task_step),
    )


def _prompt(task: Task, task_step: int) -> str | None:
    return task.prompts[task_step - 1] if task_step <= len(task.prompts) else None


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
    ids = [str(call.get("id")) for call in calls]
    answered = [results[call_id] for call_id in ids if call_id in results]
    usage, reasoning = line.get("usage"), line.get("reasoning")
    return Step(
        step_id=where.step_id,
        source="agent",
        message=str(line.get("content")),
        reasoning_content=reasoning if isinstance(reasoning, str) else None,
        model_name=model,
        tool_calls=tuple(_call(call) for call in calls) or None,
        observation=_observation(answered, where.task_step) if answered else None,
        metrics=_metrics(usage) if isinstance(usage, dict) else None,
        llm_call_count=1,
        extra=_extra({}, (where.line, where.line), where.task_step),
    )


def _call(call: Mapping[str, Json]) -> ToolCall:
    return ToolCall(
        tool_call_id=str(call.get("id")),
        function_name=str(call.get("name")),
        arguments=_arguments(str(call.get("arguments"))),
    )


def _arguments(text: str) -> dict[str, JsonValue]:
    """Return what the agent's own reader makes of them; what is no object is kept as it stands."""
    try:
        arguments = as_foreign(json.loads(text or "{}"))
    except (ValueError, RecursionError):
        arguments = None
    return arguments if isinstance(arguments, dict) else {"text": text}


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
    details = usage.get("prompt_tokens_details")
    return StepMetrics(
        prompt_tokens=_count(usage, "prompt_tokens"),
        completion_tokens=_count(usage, "completion_tokens"),
        cached_tokens=_count(details, "cached_tokens") if isinstance(details, dict) else None,
    )


_CHANNELS: Mapping[str, DeliveryChannel] = {
    "prompt-retrieval": "prompt-retrieval",
    "tool-pull": "tool-pull",
}


def _extra(line: Mapping[str, Json], log_lines: tuple[int, int], task_step: int) -> Extra:
    return Extra(
        benchlib=Provenance(
            channel=_CHANNELS.get(str(line.get("channel"))),
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
