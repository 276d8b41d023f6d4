"""A challenge owns the question; what evidence exists for it is the fixture's business.

The prompt, the environment and the names of outputs are seen by the agent, alike
in both arms; verifier, reference solution and answer phrases never are.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from benchlib.contracts.base import (
    Argv,
    Broken,
    Contract,
    RelationError,
    Sha256,
    Version1,
    Words,
)
from benchlib.contracts.paths import FileIdentifier, OutputPattern, PortablePath

ChallengeKind = Literal["investigation", "coding", "continuity", "control"]


class Environment(Contract):
    """What an arm's sandbox grants, alike for both arms."""

    network: Literal["none", "open"]  # none: the model's door is the only way out
    milli_cpus: Annotated[int, Field(ge=10, le=256_000)]  # 1000 is one core
    memory_mb: Annotated[int, Field(ge=64, le=1_048_576)]
    max_processes: Annotated[int, Field(ge=8, le=65_536)]
    prebuild: tuple[Annotated[str, StringConstraints(max_length=4096)], ...] = ()
    """An argv that runs once in the prepared tree before it is sealed; empty for none."""


class Verifier(Contract):
    """The program that judges a finished workspace.

    It is called with two paths, the workspace and the verdict file. Its exit status
    and the one object in that file must agree: 0 and ``passed: true``, or 1 and
    ``passed: false``. All else is no verdict.
    """

    path: PortablePath  # a folder below the cohort
    sha256: Sha256  # tree digest of that folder
    runtime: Argv  # started in that folder; two paths are appended: workspace, verdict file
    timeout_seconds: Annotated[int, Field(ge=1, le=86_400)]


class ReferenceSolution(Contract):
    """Files laid over the prepared tree that make the verifier pass."""

    path: PortablePath  # a folder below the cohort
    sha256: Sha256  # tree digest of that folder
    self_check: tuple[Annotated[str, StringConstraints(max_length=4096)], ...] = ()
    """The argv an agent would check its work with; the rehearsal runs it; empty for none."""


class Challenge(Contract):
    """One question and how its answer is judged."""

    schema_version: Version1 = 1
    id: FileIdentifier
    kind: ChallengeKind
    prompt: Words
    follow_up_prompt: Words | None = None  # the second step of a continuity task
    allowed_outputs: tuple[OutputPattern, ...]  # a path outside these forces the reward to zero
    agent_timeout_seconds: Annotated[int, Field(ge=1, le=86_400)]  # per step
    environment: Environment
    verifier: Verifier
    reference_solution: ReferenceSolution
    answer_phrases: tuple[Annotated[str, StringConstraints(min_length=3)], ...]
    """Sentences or values that give the answer away; none may stand where an agent can read."""
    use_evidence: tuple[Annotated[str, StringConstraints(min_length=2)], ...] = ()
    """Texts that stand in the agent's own words or calls only if it acted on the memory."""

    @model_validator(mode="after")
    def _continuity_has_two_steps(self) -> Challenge:
        if (self.kind == "continuity") != (self.follow_up_prompt is not None):
            rule = "a prompt in a continuity challenge, null in any other"
            raise RelationError(Broken(("follow_up_prompt",), self.follow_up_prompt, rule))
        return self
