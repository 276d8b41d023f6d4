"""A trajectory in the Agent Trajectory Interchange Format (ATIF v1.8), held strictly.

Who said it decides what it proves: *agent* is all that a model wrote, *user* the
runner's prompt and nothing else, *system* all that a harness or a memory put in.
A tool's result is an observation inside an agent step, yet not the agent's words.
What ATIF has no field for stands under ``extra.benchlib``.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, JsonValue, StringConstraints, model_validator

from benchlib.contracts.base import Contract, Count

StepSource = Literal["system", "user", "agent"]
DeliveryChannel = Literal["tool-pull", "prompt-retrieval", "anchor-recall", "file-read"]
AtifVersion = Annotated[str, StringConstraints(pattern=r"^ATIF-v1\.[0-8]$")]


class Provenance(Contract):
    """Where a text came from, as far as the kit knows."""

    channel: DeliveryChannel | None = None  # the declared memory channel that carried it
    log_lines: tuple[Count, Count] | None = None  # first and last line of the native log
    task_step: Annotated[int, Field(ge=1)] | None = None  # of a continuity task
    is_truncated: bool = False
    is_redacted: bool = False


class Extra(Contract):
    """ATIF's free `extra` object; our own part is typed, foreign keys are kept as they are."""

    model_config = ConfigDict(extra="allow")  # the format leaves this object open

    __pydantic_extra__: dict[str, JsonValue]
    benchlib: Provenance | None = None


class ToolCall(Contract):
    """A call that the agent made."""

    tool_call_id: str
    function_name: str
    arguments: dict[str, JsonValue]
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
    cost_usd: float | None = None
    extra: Extra | None = None


class Step(Contract):
    """One entry: somebody said something, and perhaps tools answered."""

    step_id: Annotated[int, Field(ge=1)]
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
        agents_own = (self.tool_calls, self.metrics, self.model_name, self.reasoning_content)
        if self.source != "agent" and any(field is not None for field in agents_own):
            msg = "tool_calls, metrics, model_name and reasoning_content only on agent steps"
            raise ValueError(msg)
        known = {call.tool_call_id for call in self.tool_calls or ()}
        for result in self.observation.results if self.observation else ():
            if result.source_call_id is not None and result.source_call_id not in known:
                msg = f"source_call_id {result.source_call_id!r} names a call of the same step"
                raise ValueError(msg)
        return self


class TrajectoryAgent(Contract):
    """Which program acted."""

    name: str
    version: str
    model_name: str | None = None
    tool_definitions: tuple[dict[str, JsonValue], ...] | None = None
    extra: Extra | None = None


class FinalMetrics(Contract):
    """Totals of a trajectory."""

    total_prompt_tokens: Count | None = None
    total_completion_tokens: Count | None = None
    total_cached_tokens: Count | None = None
    total_cost_usd: float | None = None
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
        if [step.step_id for step in self.steps] != list(range(1, len(self.steps) + 1)):
            msg = "step_id counts from 1 without gaps"
            raise ValueError(msg)
        return self
