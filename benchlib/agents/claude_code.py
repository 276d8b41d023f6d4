"""Claude Code's session logs: what they say of tokens, each response counted once.

One response is written once per content block, each line with the same message id
and a usage; the last line of an id has the final count. Sub-agents lie in files of
their own and are added.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from benchlib.contracts.reading import Json, StrictJsonError, parse
from benchlib.contracts.usage import Usage


def count_usage(lines: Iterable[bytes]) -> Usage:
    """Count the tokens of a session.

    Args:
        lines: The lines of its log and of its sub-agents' logs, in any order of files.

    Returns:
        The tokens; damaged lines and lines without usage count nothing.

    Source:
        Measured on Claude Code 2.1.332: all lines of one message id carry its usage.
    """
    by_message: dict[str, Mapping[str, Json]] = {}
    for line in lines:
        message = _message(line)
        identity, usage = message.get("id"), message.get("usage")
        if isinstance(identity, str) and isinstance(usage, dict):
            by_message[identity] = usage
    total = Usage()
    for counts in by_message.values():
        total = total.plus(
            Usage(
                input_tokens=_count(counts, "input_tokens"),
                cache_read_tokens=_count(counts, "cache_read_input_tokens"),
                cache_write_tokens=_count(counts, "cache_creation_input_tokens"),
                output_tokens=_count(counts, "output_tokens"),
                requests=1,
            )
        )
    return total


def _message(line: bytes) -> Mapping[str, Json]:
    try:
        document = parse(line)
    except StrictJsonError:
        return {}
    message = document.get("message")
    return message if document.get("type") == "assistant" and isinstance(message, dict) else {}


def _count(usage: Mapping[str, Json], name: str) -> int:
    value = usage.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0
