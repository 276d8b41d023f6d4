"""A scripted policy: rules that answer a model request from its messages alone.

It is a stand-in for demonstrations and tests, never called a language model.
The first rule whose conditions all hold answers. A rule sees the request and
nothing else: no clock, no file, no arm, no memory of earlier requests.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints, model_validator

from benchlib.contracts.base import (
    Broken,
    Contract,
    Count,
    Identifier,
    Ordinal,
    RelationError,
    Version1,
    Whole,
)

Pattern = Annotated[str, StringConstraints(min_length=1, max_length=2000)]


class When(Contract):
    """Conditions over one request; all that are given must hold.

    Patterns are RE2, searched in text; named groups become values for the answer.
    """

    prompt: Pattern | None = None  # in the latest user message
    heard: tuple[Pattern, ...] = ()  # each in some message that the model did not write
    not_heard: tuple[Pattern, ...] = ()  # in no such message
    called: tuple[Pattern, ...] = ()  # each in a call since the prompt: `name {json}`
    not_called: tuple[Pattern, ...] = ()
    offers: tuple[Identifier, ...] = ()  # tools that the request must offer
    lacks: tuple[Identifier, ...] = ()  # tools that it must not offer
    seed_below: tuple[Count, Ordinal] | None = None
    """(k, n): the request's `seed` modulo n is below k; a request without a seed never matches."""


class ScriptedCall(Contract):
    """A tool call; ``{name}`` in a text argument stands for a named group of the patterns."""

    name: Identifier
    arguments: dict[str, str | Whole | bool]


class Rule(Contract):
    """One line of the policy."""

    id: Identifier
    when: When
    say: Annotated[str, StringConstraints(max_length=4000)] = ""
    calls: tuple[ScriptedCall, ...] = ()

    @model_validator(mode="after")
    def _answers_something(self) -> Rule:
        if not self.say and not self.calls:
            raise RelationError(Broken(("say",), self.say, "words, or calls beside it, or both"))
        return self


class ScriptedPolicy(Contract):
    """Rules in order; the last should match anything, else the request is refused by name."""

    schema_version: Version1 = 1
    name: Identifier
    rules: Annotated[tuple[Rule, ...], Field(min_length=1)]
