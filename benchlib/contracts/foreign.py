"""JSON that others wrote, held so that it can be written, read back and hashed.

An agent may call a tool with an integer of 64 bits, half of a surrogate pair or
two hundred brackets. Canonical JSON has no form for the first two, and the one
reader refuses the third. A contract refuses all of them when it is built, and
``as_foreign`` turns them into text beforehand.
"""

from __future__ import annotations

import json
import math
import re
from typing import Annotated

from pydantic import AfterValidator, JsonValue

from benchlib.contracts.base import LARGEST_INTEGER

DEEPEST_FOREIGN = 24
"""Levels of one foreign value; with those above it, a trajectory stays within the reader's 32."""

_LARGEST_INTEGRAL = 1e21  # from here on RFC 8785 writes a float with an exponent
_SURROGATE = re.compile("[\ud800-\udfff]")


def as_foreign(value: object) -> JsonValue:
    r"""Return foreign JSON with what a contract cannot hold turned into text.

    Args:
        value: What a JSON parser returned, lenient or not; other objects become their ``repr``.

    Returns:
        The same value where it fits. Numbers beyond 2^53 - 1 and those that are not finite
        become decimal text, lone surrogates their escapes, levels below the 24th JSON text.

    Example:
        >>> as_foreign({"id": 2**63, "text": "half \ud83d", "ok": [1, None]})
        {'id': '9223372036854775808', 'text': 'half \\ud83d', 'ok': [1, None]}
    """
    return _fitted(value, DEEPEST_FOREIGN)


def _fitted(value: object, levels: int) -> JsonValue:
    if isinstance(value, dict | list | tuple) and levels == 0:
        return _text(_dumped(value))
    if isinstance(value, dict):
        return {_text(str(key)): _fitted(each, levels - 1) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_fitted(each, levels - 1) for each in value]
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value if _is_carried(value) else str(value)
    return value if value is None or isinstance(value, bool) else _text(repr(value))


def _dumped(value: object) -> str:
    try:
        return json.dumps(value)
    except (TypeError, RecursionError, ValueError):
        return "(deeper than can be told)"


def _text(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _is_carried(number: float) -> bool:
    """Whether canonical JSON writes a number so that the strict reader takes it back."""
    if isinstance(number, int):
        return abs(number) <= LARGEST_INTEGER
    return math.isfinite(number) and not LARGEST_INTEGER < abs(number) < _LARGEST_INTEGRAL


def _refuse_unfit(value: JsonValue) -> JsonValue:
    fault = _fault(value, DEEPEST_FOREIGN)
    if fault:
        msg = f"JSON that can be written and read back; here: {fault}"
        raise ValueError(msg)
    return value


def _fault(value: JsonValue, levels: int) -> str | None:
    if isinstance(value, str):
        return "a lone surrogate" if _SURROGATE.search(value) else None
    if isinstance(value, dict | list):
        if levels == 0:
            return f"more than {DEEPEST_FOREIGN} levels"
        inside = [*value, *value.values()] if isinstance(value, dict) else value
        return next(filter(None, (_fault(each, levels - 1) for each in inside)), None)
    if isinstance(value, int | float) and not _is_carried(value):
        return f"the number {value!r}"
    return None


ForeignJson = Annotated[JsonValue, AfterValidator(_refuse_unfit)]
"""Any JSON of others."""

ForeignObject = dict[str, ForeignJson]
"""An object of theirs; its own level is not counted."""
