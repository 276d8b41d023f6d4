"""The wire format of chat completions, as far as the kit speaks it.

Requests tolerate fields that we do not read, for clients send many; what we do
read is checked. Answers are what a client of the public interface expects.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from benchlib.contracts.reading import Json, StrictJsonError, parse
from benchlib.contracts.usage import Usage

Role = Literal["system", "user", "assistant", "tool"]
_ROLES = ("system", "developer", "user", "assistant", "tool")


class BadRequestError(ValueError):
    """A request that is answered with status 400 and these words."""


@dataclass(frozen=True)
class Call:
    """A tool call that the model made earlier."""

    id: str
    name: str
    arguments: str  # JSON text, as the wire has it


@dataclass(frozen=True)
class Message:
    """One message of the conversation."""

    role: str
    content: str
    calls: tuple[Call, ...] = ()
    call_id: str | None = None  # of a tool's answer


@dataclass(frozen=True)
class ChatRequest:
    """What a model is asked; the only thing that a scripted policy sees."""

    model: str
    messages: tuple[Message, ...]
    tools: tuple[str, ...]
    seed: int | None


@dataclass(frozen=True)
class ChatAnswer:
    """What a model answers: words, calls, or both, and the tokens it took."""

    model: str
    content: str
    calls: tuple[Call, ...]
    usage: Usage


def read_request(data: bytes) -> ChatRequest:
    """Read a request's body.

    Raises:
        BadRequestError: It is no JSON object, or a field that we read is wrong.
    """
    try:
        document = parse(data)
    except StrictJsonError as error:
        raise BadRequestError(str(error)) from error
    if document.get("stream"):
        raise BadRequestError("stream: this door answers whole; leave it out or send false")
    seed = document.get("seed")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int)):
        raise BadRequestError("seed: a whole number")
    messages = _list(document, "messages")
    if not messages:
        raise BadRequestError("messages: one or more")
    return ChatRequest(
        model=_text(document, "model"),
        messages=tuple(_message(one, f"messages[{n}]") for n, one in enumerate(messages)),
        tools=tuple(_tool_name(one) for one in _list(document, "tools")),
        seed=seed,
    )


def response_body(answer: ChatAnswer, identity: str) -> dict[str, Json]:
    """Return the JSON of an answer.

    Args:
        answer: What the model says.
        identity: What its id is made of; nothing else in it depends on when it is given.

    Returns:
        A chat completion, as clients of the public interface expect it.
    """
    calls: list[Json] = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for call in answer.calls
    ]
    message: dict[str, Json] = {"role": "assistant", "content": answer.content}
    if calls:
        message["tool_calls"] = calls
    usage = answer.usage
    prompt = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    return {
        "id": f"chatcmpl-{identity}",
        "object": "chat.completion",
        "created": 0,
        "model": answer.model,
        "system_fingerprint": "scripted",
        "choices": [
            {
                "index": 0,
                "message": message,
                "finish_reason": "tool_calls" if calls else "stop",
            }
        ],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": usage.output_tokens,
            "total_tokens": prompt + usage.output_tokens,
        },
    }


def _message(value: Json, place: str) -> Message:
    if not isinstance(value, dict):
        raise BadRequestError(f"{place}: an object")
    role = _text(value, "role", place)
    if role not in _ROLES:
        raise BadRequestError(f"{place}.role: one of {', '.join(_ROLES)}")
    call_id = value.get("tool_call_id")
    return Message(
        role=role,
        content=_content(value.get("content"), place),
        calls=tuple(_call(one, place) for one in _list(value, "tool_calls")),
        call_id=call_id if isinstance(call_id, str) else None,
    )


def _content(value: Json, place: str) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        texts = [part.get("text") for part in value if isinstance(part, dict)]
        return "".join(text for text in texts if isinstance(text, str))
    raise BadRequestError(f"{place}.content: text, parts, or null")


def _call(value: Json, place: str) -> Call:
    function = value.get("function") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(function, dict):
        raise BadRequestError(f"{place}.tool_calls: objects with a function")
    return Call(
        id=_text(value, "id", place),
        name=_text(function, "name", place),
        arguments=_text(function, "arguments", place),
    )


def _tool_name(value: Json) -> str:
    function = value.get("function") if isinstance(value, dict) else None
    if not isinstance(function, dict):
        raise BadRequestError("tools: objects with a function")
    return _text(function, "name", "tools")


def _list(document: Mapping[str, Json], name: str) -> list[Json]:
    value = document.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise BadRequestError(f"{name}: a list")
    return value


def _text(document: Mapping[str, Json], name: str, place: str = "") -> str:
    value = document.get(name)
    if not isinstance(value, str):
        raise BadRequestError(f"{place}.{name}".lstrip(".") + ": text")
    return value
