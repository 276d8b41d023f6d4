"""Who said what in a trajectory: the agent's own words, and what it heard.

*Agent* is all that a model wrote: messages, reasoning, arguments of calls. *Heard* is
what a harness or a memory put before it, and of tool results only those that a
declared memory tool or memory path gave. History that a resumed session repeats is
passed over in both.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from pydantic import JsonValue

from benchlib.contracts.trajectory import (
    DeliveryChannel,
    Extra,
    ObservationResult,
    Step,
    ToolCall,
    Trajectory,
)


@dataclass(frozen=True)
class Words:
    """A text that the agent wrote."""

    step_id: int
    text: str


@dataclass(frozen=True)
class Heard:
    """A text that the agent was given and did not write."""

    step_id: int
    text: str
    channel: DeliveryChannel | None  # by provenance; None where the log does not tell
    own_words: tuple[str, ...]  # of the call that was answered: an echo is no delivery


def agents_words(trajectory: Trajectory) -> Iterator[Words]:
    """Yield every text that the agent wrote, in order."""
    for step in _own_steps(trajectory):
        if step.source == "agent":
            for text in _written(step):
                yield Words(step.step_id, text)


def prompts(trajectory: Trajectory) -> Iterator[Words]:
    """Yield the runner's prompts."""
    for step in _own_steps(trajectory):
        if step.source == "user":
            yield Words(step.step_id, step.message)


def all_texts(trajectory: Trajectory) -> Iterator[str]:
    """Yield every text of the trajectory, whoever wrote it."""
    for step in trajectory.steps:
        yield from _written(step)
        for result in step.observation.results if step.observation else ():
            yield result.content or ""


def heard(trajectory: Trajectory, memory_tools: Collection[str]) -> Iterator[Heard]:
    """Yield every text that may be evidence of delivery, in order.

    Args:
        trajectory: The arm's session.
        memory_tools: Names of the tools whose results are memory.
    """
    written: list[ToolCall] = []
    for step in _own_steps(trajectory):
        if step.source == "system":
            yield Heard(step.step_id, step.message, _channel(step.extra), ())
        calls = {call.tool_call_id: call for call in step.tool_calls or ()}
        for result in step.observation.results if step.observation else ():
            call = calls.get(result.source_call_id or "")
            channel = _channel_of_result(step, result, call, memory_tools)
            if channel == "file-read" and call and _is_agents_file(call, written):
                continue
            if channel or (step.source == "system" and call is None):
                own = tuple(_strings(call.arguments)) if call else ()
                yield Heard(step.step_id, result.content or "", channel, own)
        written += calls.values()


def _own_steps(trajectory: Trajectory) -> Iterable[Step]:
    return (step for step in trajectory.steps if not step.is_copied_context)


def _written(step: Step) -> Iterator[str]:
    yield step.message
    if step.reasoning_content:
        yield step.reasoning_content
    for call in step.tool_calls or ():
        yield from _strings(call.arguments)


def _strings(value: JsonValue) -> Iterator[str]:
    """Yield the texts and numbers of a JSON value as an agent wrote them."""
    if isinstance(value, dict):
        for child in value.values():
            yield from _strings(child)
    elif isinstance(value, list):
        for child in value:
            yield from _strings(child)
    elif isinstance(value, str):
        yield value
    elif value is not None:
        yield str(value)


def _channel(extra: Extra | None) -> DeliveryChannel | None:
    return extra.benchlib.channel if extra and extra.benchlib else None


def _channel_of_result(
    step: Step,
    result: ObservationResult,
    call: ToolCall | None,
    memory_tools: Collection[str],
) -> DeliveryChannel | None:
    """Return what the adapter says of a result; a memory tool's needs no such word."""
    told = _channel(result.extra) or (_channel(call.extra) if call else None)
    if told is None and step.source == "system":
        told = _channel(step.extra)
    if told is None and call and call.function_name in memory_tools:
        return "tool-pull"
    return told


_CONTENT_ARGUMENTS = {"content", "new_string", "new_str", "file_text", "text", "patch"}
_WRITING_WORDS = (">", "tee ", "cp ", "mv ", "dd ", "sed -i", "patch ", "open(", "write")


def _is_agents_file(read: ToolCall, earlier: Iterable[ToolCall]) -> bool:
    """Tell whether a read gives back what the agent itself may have written before.

    In doubt it does: a false "not delivered" weakens a claim, a false "delivered" makes one.
    """
    names = [name for text in _strings(read.arguments) if (name := PurePosixPath(text).name)]
    return any(_may_write(call, name) for call in earlier for name in names)


def _may_write(call: ToolCall, name: str) -> bool:
    texts = list(_strings(call.arguments))
    if not any(name in text for text in texts):
        return False
    by_field = bool(_CONTENT_ARGUMENTS & set(call.arguments))
    return by_field or any(word in text for text in texts for word in _WRITING_WORDS)
