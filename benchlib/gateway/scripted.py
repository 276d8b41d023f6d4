"""The scripted back end: a policy's rules answer a request from its messages alone.

It is a stand-in for demonstrations and tests and no language model. The same request
gives the same bytes, whatever was asked before and by whom. Tokens are counted by a
rule of our own: one for every four bytes of UTF-8, rounded up.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import re2

from benchlib.contracts.policy import Rule, ScriptedPolicy, When
from benchlib.contracts.reading import read_file
from benchlib.contracts.usage import Usage
from benchlib.errors import InputError
from benchlib.gateway.openai import BadRequestError, Call, ChatAnswer, ChatRequest, Message

_PLACE = re.compile(r"\{\{(?P<literal>[A-Za-z_]\w*)\}\}|\{(?P<name>[A-Za-z_]\w*)\}", re.ASCII)
"""``{name}`` stands for a value; ``{{name}}`` for ``{name}`` itself, as code has it."""


class _Match(Protocol):
    def groupdict(self) -> dict[str, str | None]: ...


class _Pattern(Protocol):
    groupindex: dict[str, int]

    def search(self, text: str) -> _Match | None: ...


def answer(policy: ScriptedPolicy, request: ChatRequest) -> ChatAnswer:
    """Answer a request by the first rule whose conditions all hold.

    Args:
        policy: The rules.
        request: All that they see.

    Returns:
        The answer; its model is the policy's name.

    Raises:
        BadRequestError: No rule matches.
    """
    for rule in policy.rules:
        values = _matches(rule.when, request)
        if values is not None:
            return _answer(policy, rule, values, request)
    raise BadRequestError(f"no rule of the scripted policy {policy.name!r} matches this request")


def read_policy(path: Path) -> ScriptedPolicy:
    """Read a policy and check what its contract can't: patterns, and the values it names.

    Only ``prompt``, ``heard`` and ``called`` capture values: what must not be there has none.

    Args:
        path: The policy's file.

    Returns:
        The policy; every answer of it can be given.

    Raises:
        InputError: A pattern is no RE2, an answer names a value that no pattern captures, or
            an id stands twice; all findings stand in one report.
    """
    policy = read_file(ScriptedPolicy, path)
    faults = [fault for n, rule in enumerate(policy.rules) for fault in _faults(rule, n, str(path))]
    faults += _repeated_ids(policy, str(path))
    if faults:
        first, *others = faults
        first.also = tuple(others)
        raise first
    return policy


def _faults(rule: Rule, number: int, place: str) -> Iterator[InputError]:
    capturing, excluding = _patterns(rule.when)
    known: set[str] = set()
    for field, pattern in (*capturing, *excluding):
        try:
            groups = set(_compiled(pattern).groupindex)
        except re2.error as error:
            yield InputError(
                place,
                f"rules[{number}].when.{field}",
                found=pattern,
                allowed=f"a pattern in RE2's syntax ({_in_words(error)})",
                next_step="correct the pattern",
            )
            continue
        known |= groups if (field, pattern) in capturing else set()
    for field, name in _named(rule):
        if name not in known:
            yield InputError(
                place,
                f"rules[{number}].{field}",
                found="{" + name + "}",
                allowed="a group that prompt, heard or called of the rule captures: "
                + (", ".join(sorted(known)) or "there is none"),
                next_step=f"capture it as (?P<{name}>…), or write {{{{{name}}}}} for the braces",
            )


def _repeated_ids(policy: ScriptedPolicy, place: str) -> Iterator[InputError]:
    ids = [rule.id for rule in policy.rules]
    for number, name in enumerate(ids):
        if name in ids[:number]:
            yield InputError(
                place,
                f"rules[{number}].id",
                found=name,
                allowed="each id once",
                next_step="rename the rule",
            )


_Fields = list[tuple[str, str]]  # a field's path, and what stands there


def _patterns(when: When) -> tuple[_Fields, _Fields]:
    """Return the patterns that capture values, and those that must not match."""
    prompt = [("prompt", when.prompt)] if when.prompt is not None else []
    lists = {
        name: [(f"{name}[{n}]", pattern) for n, pattern in enumerate(getattr(when, name))]
        for name in ("heard", "called", "not_heard", "not_called")
    }
    capturing = [*prompt, *lists["heard"], *lists["called"]]
    return capturing, [*lists["not_heard"], *lists["not_called"]]


def _named(rule: Rule) -> _Fields:
    """Return every value that an answer names, with the field that names it."""
    texts = [("say", rule.say)]
    texts += [
        (f"calls[{n}].arguments.{name}", value)
        for n, call in enumerate(rule.calls)
        for name, value in call.arguments.items()
        if isinstance(value, str)
    ]
    return [
        (field, match["name"])
        for field, text in texts
        for match in _PLACE.finditer(text)
        if match["name"]
    ]


def _in_words(error: Exception) -> str:
    reason = error.args[0] if error.args else ""
    return reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> _Pattern:
    options = re2.Options()
    options.log_errors = False
    compiled: _Pattern = re2.compile(pattern, options)
    return compiled


def _matches(when: When, request: ChatRequest) -> dict[str, str] | None:
    """Return what the patterns captured, or None when a condition does not hold."""
    heard = [one.content for one in request.messages if one.role != "assistant"]
    called = _calls_since_prompt(request.messages)
    offered = set(request.tools)
    if not (set(when.offers) <= offered and offered.isdisjoint(when.lacks)):
        return None
    if when.seed_below is not None and not _seed_is_below(request.seed, when.seed_below):
        return None
    if any(_found(pattern, heard) for pattern in when.not_heard):
        return None
    if any(_found(pattern, called) for pattern in when.not_called):
        return None
    prompt = [(when.prompt, [_latest_prompt(request.messages)])] if when.prompt is not None else []
    wanted = [*prompt, *((p, heard) for p in when.heard), *((p, called) for p in when.called)]
    values: dict[str, str] = {}
    for pattern, texts in wanted:
        match = _found(pattern, texts)
        if match is None:
            return None
        values |= {name: text or "" for name, text in match.groupdict().items()}
    return values


def _found(pattern: str, texts: Sequence[str]) -> _Match | None:
    """Search the newest text first: what was heard last is what counts."""
    compiled = _compiled(pattern)
    return next(filter(None, map(compiled.search, reversed(texts))), None)


def _seed_is_below(seed: int | None, bounds: tuple[int, int]) -> bool:
    below, modulus = bounds
    return seed is not None and seed % modulus < below


def _latest_prompt(messages: Sequence[Message]) -> str:
    return next((one.content for one in reversed(messages) if one.role == "user"), "")


def _calls_since_prompt(messages: Sequence[Message]) -> list[str]:
    last = max((n for n, one in enumerate(messages) if one.role == "user"), default=-1)
    return [
        f"{call.name} {_normal(call.arguments)}"
        for one in messages[last + 1 :]
        for call in one.calls
    ]


def _normal(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), sort_keys=True, ensure_ascii=False)
    except ValueError:
        return arguments


def _answer(
    policy: ScriptedPolicy, rule: Rule, values: dict[str, str], request: ChatRequest
) -> ChatAnswer:
    content = _filled(rule.say, values)
    calls = tuple(
        Call(
            id=_call_id(request, n),
            name=call.name,
            arguments=json.dumps(
                {
                    name: _filled(value, values) if isinstance(value, str) else value
                    for name, value in sorted(call.arguments.items())
                },
                ensure_ascii=False,
            ),
        )
        for n, call in enumerate(rule.calls)
    )
    said = content + "".join(call.name + call.arguments for call in calls)
    usage = Usage(input_tokens=_tokens(request), output_tokens=_token_count(said), requests=1)
    return ChatAnswer(model=policy.name, content=content, calls=calls, usage=usage)


def _filled(text: str, values: dict[str, str]) -> str:
    return _PLACE.sub(
        lambda match: (
            "{" + match["literal"] + "}"
            if match["literal"]
            else values.get(match["name"], match[0])
        ),
        text,
    )


def _call_id(request: ChatRequest, number: int) -> str:
    """Make ids that differ within a conversation and are equal for equal requests."""
    text = repr(request.messages) + str(number)
    return "call_" + hashlib.sha256(text.encode()).hexdigest()[:16]


def _tokens(request: ChatRequest) -> int:
    return sum(
        _token_count(one.content + "".join(call.name + call.arguments for call in one.calls))
        for one in request.messages
    )


def _token_count(text: str) -> int:
    return -(-len(text.encode()) // 4)
