"""The wire record of an arm: every exchange, one JSON line each, as both sides sent it.

The token that opened the door is not part of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchlib.contracts.reading import Json, StrictJsonError, parse
from benchlib.contracts.usage import Usage
from benchlib.errors import InputError

CHAT_PATH = "/v1/chat/completions"
MEMORY_PATH = "/mcp"


@dataclass(frozen=True)
class Exchange:
    """One request and its answer; a body that was no JSON object is kept under ``text``."""

    n: int
    path: str
    status: int
    request: dict[str, Json]
    response: dict[str, Json]
    milliseconds: int


def line_of(exchange: Exchange) -> bytes:
    """Return an exchange as its line in the record."""
    document = {
        "n": exchange.n,
        "path": exchange.path,
        "status": exchange.status,
        "request": exchange.request,
        "response": exchange.response,
        "milliseconds": exchange.milliseconds,
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def read_wire(path: Path, *, cut_is_expected: bool = False) -> tuple[Exchange, ...]:
    """Read a wire record.

    Args:
        path: The record; an absent file is an arm that asked nothing.
        cut_is_expected: Whether the last line may have been cut by a crash; it is then left out.

    Raises:
        InputError: A line is damaged.
    """
    if not path.exists():
        return ()
    lines = path.read_bytes().split(b"\n")
    whole, rest = lines[:-1], lines[-1]
    if rest and not cut_is_expected:
        raise _damaged(path, len(lines), "the last line is cut")
    return tuple(_read_line(line, path, number) for number, line in enumerate(whole, start=1))


def usage_of(exchanges: Iterable[Exchange]) -> Usage:
    """Add up the tokens that the model side reported, each answer once."""
    total = Usage()
    for one in exchanges:
        usage = one.response.get("usage")
        if one.path == CHAT_PATH and one.status == 200 and isinstance(usage, dict):
            total = total.plus(usage_from_wire(usage))
    return total


def usage_from_wire(usage: dict[str, Json]) -> Usage:
    """Normalise a chat completion's usage: cached tokens stand apart from fresh input."""
    prompt, output = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    prompt_details = usage.get("prompt_tokens_details")
    output_details = usage.get("completion_tokens_details")
    cached = _count(prompt_details.get("cached_tokens")) if isinstance(prompt_details, dict) else 0
    reasoning = (
        _count(output_details.get("reasoning_tokens")) if isinstance(output_details, dict) else 0
    )
    return Usage(
        input_tokens=max(0, prompt - cached),
        cache_read_tokens=cached,
        output_tokens=output,
        reasoning_tokens=reasoning,
        requests=1,
    )


def _count(value: Json) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def _read_line(line: bytes, path: Path, number: int) -> Exchange:
    try:
        document = parse(line)
    except StrictJsonError as error:
        raise _damaged(path, number, str(error)) from error
    n, status, milliseconds = (document.get(name) for name in ("n", "status", "milliseconds"))
    request, response = document.get("request"), document.get("response")
    if not (
        isinstance(n, int)
        and isinstance(status, int)
        and isinstance(milliseconds, int)
        and isinstance(request, dict)
        and isinstance(response, dict)
    ):
        raise _damaged(path, number, "a field is missing or of another type")
    return Exchange(n, str(document.get("path")), status, request, response, milliseconds)


def _damaged(path: Path, number: int, found: str) -> InputError:
    return InputError(
        f"{path}: line {number}",
        found=found,
        allowed="one exchange as a JSON object",
        next_step="restore the record; it is never edited",
    )
