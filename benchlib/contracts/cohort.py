"""A cohort: which pairs are run, under which two conditions, and what analyses them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from benchlib.contracts.base import (
    Argv,
    Broken,
    Contract,
    Count,
    EnvironmentName,
    Identifier,
    ReasonCode,
    RelationError,
    Sha256,
    Version1,
    Words,
    repeated,
)
from benchlib.contracts.paths import FileIdentifier, PortablePath

Channel = Literal["tool-pull", "prompt-retrieval"]
Isolation = Literal["container", "namespace", "none"]


class MemoryCondition(Contract):
    """Which memory is restored, and by which doors it reaches the agent."""

    graph_arm: Identifier  # of each fixture that a pair of this condition names
    channels: Annotated[tuple[Channel, ...], Field(min_length=1)]


class Condition(Contract):
    """What one arm gets; ``memory: null`` restores nothing and shows no memory tool."""

    id: Identifier
    memory: MemoryCondition | None


class VerbLimits(Contract):
    """Bounds of one provisioner call."""

    seconds: Annotated[int, Field(ge=1, le=3600)]
    stdout_bytes: Annotated[int, Field(ge=16, le=64 * 1024 * 1024)]


class ProvisionerLimits(Contract):
    """The limits of the three verbs; each may be lowered, none lifted altogether."""

    restore: VerbLimits = VerbLimits(seconds=300, stdout_bytes=64 * 1024)
    snapshot: VerbLimits = VerbLimits(seconds=120, stdout_bytes=16 * 1024 * 1024)
    destroy: VerbLimits = VerbLimits(seconds=60, stdout_bytes=4 * 1024)
    stdin_bytes: Annotated[int, Field(ge=1024, le=16 * 1024 * 1024)] = 64 * 1024
    stderr_bytes: Annotated[int, Field(ge=1024, le=16 * 1024 * 1024)] = 64 * 1024
    grace_seconds: Annotated[int, Field(ge=0, le=60)] = 5
    queue_wait_seconds: Annotated[int, Field(ge=0, le=3600)] = 0  # how long a queue may drain


class Provisioner(Contract):
    """The memory system under test: an executable with three verbs, and a server for its tools."""

    name: Identifier
    build: Annotated[str, StringConstraints(min_length=1, max_length=200)]  # the version under test
    argv: Argv  # `restore`, `snapshot` or `destroy` is appended
    serve: Argv  # an MCP server on stdin and stdout; the project is appended
    embedding: Literal["lexical", "semantic", "unknown"]
    environment: tuple[EnvironmentName, ...] = ()  # names handed through from the operator
    limits: ProvisionerLimits = ProvisionerLimits()


class ScriptedModel(Contract):
    """A deterministic policy that answers from the request alone; no language model."""

    kind: Literal["scripted"]
    name: Identifier
    policy: PortablePath  # a file below the cohort
    policy_sha256: Sha256


class NoModel(Contract):
    """For an agent that is a plain command."""

    kind: Literal["none"]
    name: Literal["none"]


class ReactAgent(Contract):
    """The kit's own loop: run, read, write, search, finish."""

    adapter: Literal["react"]
    max_steps: Annotated[int, Field(ge=1, le=1000)]


class CommandAgent(Contract):
    """Any program; the prompt is in the file that ``{prompt}`` stands for."""

    adapter: Literal["command"]
    argv: Argv


class PlannedPair(Contract):
    """One pair: a question, its evidence, two conditions and the seed of their order."""

    id: FileIdentifier
    challenge: Identifier
    fixture: Identifier
    control: Identifier
    treatment: Identifier
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)]


class PlannedEndpoint(Contract):
    """A claim about whether tasks are solved, and the test that will decide it.

    It holds for each comparison of two conditions that the pairs make. The planned
    tests of one endpoint are the family over which p values are adjusted.
    """

    id: Identifier
    hypothesis: Words
    challenges: Annotated[tuple[Identifier, ...], Field(min_length=1)]
    lines: Literal["per-challenge", "overall"]
    question: Literal["difference", "equivalence", "noninferiority"] = "difference"
    family: Literal["conditional", "unconditional", "clusters", "strata"]
    margin_ppm: Annotated[int, Field(ge=1, le=999_999)] | None = None  # of a risk difference

    @model_validator(mode="after")
    def _family_fits_the_claim(self) -> PlannedEndpoint:
        """`benchlib.stats.summarize` refuses the same when the money is already spent."""
        broken = list(repeated(("challenges",), list(self.challenges)))
        has_margin = self.question != "difference"
        if has_margin != (self.margin_ppm is not None):
            rule = f"a margin for equivalence and noninferiority, null for {self.question}"
            broken.append(Broken(("margin_ppm",), self.margin_ppm, rule))
        if has_margin and self.family != "unconditional":
            broken.append(Broken(("family",), self.family, "unconditional, with a margin"))
        if self.lines == "per-challenge" and self.family in {"clusters", "strata"}:
            rule = "conditional or unconditional, for a line about one challenge"
            broken.append(Broken(("family",), self.family, rule))
        if broken:
            raise RelationError(*broken)
        return self


class NotebookPlan(Contract):
    """The frozen notebook that makes the published tables, and the claims that it tests."""

    notebook: PortablePath  # below the folder that holds `cohorts/`
    plan_sha256: Sha256
    alpha_ppm: Annotated[int, Field(ge=1, le=500_000)]  # parts per million; 50000 is 5 %
    endpoints: Annotated[tuple[PlannedEndpoint, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _endpoints_have_names_of_their_own(self) -> NotebookPlan:
        broken = repeated(("endpoints", "id"), [endpoint.id for endpoint in self.endpoints])
        if broken:
            raise RelationError(*broken)
        return self


class RunRules(Contract):
    """What the runner may and may not do with attempts."""

    allowed_isolation: Annotated[tuple[Isolation, ...], Field(min_length=1)]
    joins_halves: bool = False  # may one pair be made of arms of different attempts
    retry_reasons: tuple[ReasonCode, ...] = ()  # voids that are tried again
    max_attempts: Annotated[int, Field(ge=1, le=10)] = 2
    max_output_bytes: Count = 8 * 1024 * 1024  # of an agent's stdout and stderr each, kept


class Cohort(Contract):
    """Everything that a run of the cohort rests on; its files are pinned in the lock beside it."""

    schema_version: Version1 = 1
    id: FileIdentifier
    version: Annotated[int, Field(ge=1, le=9999)]
    title: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    question: Words
    challenges: Annotated[tuple[Identifier, ...], Field(min_length=1)]
    fixtures: Annotated[tuple[Identifier, ...], Field(min_length=1)]
    conditions: Annotated[tuple[Condition, ...], Field(min_length=2)]
    agent: Annotated[ReactAgent | CommandAgent, Field(discriminator="adapter")]
    model: Annotated[ScriptedModel | NoModel, Field(discriminator="kind")]
    provisioner: Provisioner
    rules: RunRules
    analysis: NotebookPlan
    pairs: Annotated[tuple[PlannedPair, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _names_resolve(self) -> Cohort:
        broken = [
            *repeated(("challenges",), list(self.challenges)),
            *repeated(("fixtures",), list(self.fixtures)),
            *repeated(("conditions", "id"), [condition.id for condition in self.conditions]),
            *repeated(("pairs", "id"), [pair.id for pair in self.pairs]),
        ]
        for index, pair in enumerate(self.pairs):
            broken += self._unresolved(("pairs", index), pair)
        for index, endpoint in enumerate(self.analysis.endpoints):
            broken += self._untestable(("analysis", "endpoints", index), endpoint)
        if broken:
            raise RelationError(*broken)
        return self

    def _unresolved(self, place: tuple[str, int], pair: PlannedPair) -> list[Broken]:
        conditions = tuple(condition.id for condition in self.conditions)
        known = {
            "challenge": self.challenges,
            "fixture": self.fixtures,
            "control": conditions,
            "treatment": conditions,
        }
        broken = [
            Broken((*place, field), getattr(pair, field), f"one of {', '.join(names)}")
            for field, names in known.items()
            if getattr(pair, field) not in names
        ]
        if pair.control == pair.treatment:
            rule = "another condition than the control's"
            broken.append(Broken((*place, "treatment"), pair.treatment, rule))
        return broken

    def _untestable(
        self, place: tuple[str, str, int], endpoint: PlannedEndpoint
    ) -> Iterator[Broken]:
        unknown = [name for name in endpoint.challenges if name not in self.challenges]
        if unknown:
            rule = f"challenges of this cohort: {', '.join(self.challenges)}"
            yield Broken((*place, "challenges"), unknown, rule)
        asked = Counter(
            (pair.challenge, pair.control, pair.treatment)
            for pair in self.pairs
            if pair.challenge in endpoint.challenges
        )
        repeats = max(asked.values(), default=0) > 1
        if endpoint.lines == "overall" and repeats and endpoint.family.endswith("conditional"):
            rule = "clusters or strata, for attempts at one challenge are not independent pairs"
            yield Broken((*place, "family"), endpoint.family, rule)

    def condition(self, name: str) -> Condition:
        """Return the condition of that id; names were checked when the cohort was read."""
        return next(condition for condition in self.conditions if condition.id == name)
