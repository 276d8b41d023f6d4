"""Names that could tell an agent what it is part of. A project's name can reach it by a tool."""

from __future__ import annotations

import re
from collections.abc import Collection

_TELLING = frozenset(
    {"arm", "arms", "benchlib", "benchmark", "benchmarks"}
    | {"control", "fixture", "fixtures", "treatment"}
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def telling_word(name: str, also: Collection[str] = ()) -> str | None:
    """Return the first word or given name that tells, or None.

    Args:
        name: A project's name or a run identity.
        also: Whole names that may not be part of it, such as the graph arm's.

    Example:
        >>> telling_word("r-farm-7"), telling_word("memControl:2")
        (None, 'control')
        >>> telling_word("x.full.1", ["full"]), telling_word("x.fuller.1", ["full"])
        ('full', None)
    """
    for match in _WORD.finditer(name):
        if match.group().casefold() in _TELLING:
            return match.group().casefold()
    return next((one for one in also if _dotted(one) in _dotted(name)), None)


def _dotted(name: str) -> str:
    return f".{re.sub('[:_-]', '.', name.casefold())}."
