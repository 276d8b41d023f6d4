"""A trajectory in the Agent Trajectory Interchange Format (ATIF v1.8), held strictly.

Who said it decides what it proves: *agent* is all that a model wrote, *user* the
runner's prompt and nothing else, *system* all that a harness or a memory put in.
A tool's result is an observation inside an agent step, yet not the agent's words.
What ATIF has no field for stands under ``extra.benchlib``.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StringConstraints, model_validator

from benchlib.contracts.base import Broken, Contract, Count, Number, Ordinal, RelationError
from benchlib.contracts.foreign import ForeignJson, ForeignObject
from benchlib.errors import InWords

StepSource = Literal["system", "user", "agent"]
DeliveryChannel = Literal["tool-pull", "prompt-retrieval", "anchor-recall", "file-read"]
AtifVersion = Annotated[str, StringConstraints(pattern=r"^ATIF-v1\.[0-8]$")]


class Provenance(Contract):
    """Where a text came from, as far as the kit knows."""

    channel: DeliveryChannel | None = None  # the declared memory channel that carried it
    log_lines: tuple[Count, Count] | None = None  # first and last line of the native log
    task_step: Ordinal | None = None  # of a continuity task
    is_truncated: bool = False
    is_redacted: bool = False

    @model_validator(mode="after")
    def _lines_run_forward(self) -> Provenance:
        if self.log_lines is not None and self.log_lines[0] > self.log_lines[1]:
            rule = "the first line, then the last, which is no smaller"
            raise RelationError(Broken(("log_lines",), list(self.log_lines), rule))
        return self


class Extra(Contract):
    """ATIF's free `extra` object; our own part is typed, foreign keys are kept as they are."""

    model_config = ConfigDict(extra="allow")  # the format leaves this object open

    __pydantic_extra__: dict[str, ForeignJson] = Field(init=False)
    benchlib: Provenance | None = None


class ToolCall(Contract):
    """A call that the agent made."""

    tool_call_id: str
    function_name: str
    arguments: ForeignObject
    extra: Extra | None = None


class ObservationResult(Contract):
    """What a tool answered."""

    source_call_id: str | None = None
    content: str | None = None
    extra: Extra | None = None


class Observation(Contract):
    """The results of a step's calls."""

    results: tuple[ObservationResult, ...]


class StepMetrics(Contract):
    """Tokens of the response behind a step; `cached_tokens` is a part of `prompt_tokens`."""

    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    cached_tokens: Count | None = None
    cost_usd: Number | None = None
    extra: Extra | None = None


class Step(Contract):
    """One entry: somebody said something, and perhaps tools answered."""

    step_id: Ordinal
    timestamp: str | None = None
    source: StepSource
    message: str
    reasoning_content: str | None = None
    model_name: str | None = None
    tool_calls: tuple[ToolCall, ...] | None = None
    observation: Observation | None = None
    metrics: StepMetrics | None = None
    is_copied_context: bool | None = None
    llm_call_count: Count | None = None
    extra: Extra | None = None

    @model_validator(mode="after")
    def _only_agents_call(self) -> Step:
        broken = [
            Broken((name,), InWords(f"a value on a {self.source} step"), "this only on agent steps")
            for name in ("tool_calls", "metrics", "model_name", "reasoning_content")
            if self.source != "agent" and getattr(self, name) is not None
        ]
        known = {call.tool_call_id for call in self.tool_calls or ()}
        for index, result in enumerate(self.observation.results if self.observation else ()):
            if result.source_call_id is not None and result.source_call_id not in known:
                place = ("observation", "results", index, "source_call_id")
                rule = "the tool_call_id of a call of the same step, or null"
                broken.append(Broken(place, result.source_call_id, rule))
        if broken:
            raise RelationError(*broken)
        return self


class TrajectoryAgent(Contract):
    """Which program acted."""

    name: str
    version: str
    model_name: str | None = None
    tool_definitions: tuple[ForeignObject, ...] | None = None
    extra: Extra | None = None


class FinalMetrics(Contract):
    """Totals of a trajectory."""

    total_prompt_tokens: Count | None = None
    total_completion_tokens: Count | None = None
    total_cached_tokens: Count | None = None
    total_cost_usd: Number | None = None
    total_steps: Count | None = None
    extra: Extra | None = None


class Trajectory(Contract):
    """One arm's session from the first word to the last."""

    schema_version: AtifVersion = "ATIF-v1.8"
    session_id: str | None = None
    trajectory_id: str | None = None
    agent: TrajectoryAgent
    steps: Annotated[tuple[Step, ...], Field(min_length=1)]
    notes: str | None = None
    final_metrics: FinalMetrics | None = None
    extra: Extra | None = None

    @model_validator(mode="after")
    def _steps_are_numbered(self) -> Trajectory:
        broken = [
            Broken(("steps", index, "step_id"), step.step_id, f"{index + 1}: steps count from 1")
            for index, step in enumerate(self.steps)
            if step.step_id != index + 1
        ]
        if broken:
            raise RelationError(broken[0])  # the rest follows from the first
        return self
