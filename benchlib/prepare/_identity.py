"""Names judged by the strict vocabulary: identity fields of graphs, and names the kit writes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from benchlib.contracts.reading import Json
from benchlib.prepare import patterns
from benchlib.prepare._rules import why_own_id
from benchlib.prepare.vocabulary import PlanId, Vocabulary

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def words_of(name: str) -> list[str]:
    """Split a name into words, lower case.

    Example:
        >>> words_of("controlArm-3_HTTPServer")
        ['control', 'arm', '3', 'http', 'server']
    """
    return [word.lower() for word in _WORD.findall(name)]


class NameJudge:
    """The strict vocabulary of one plan.

    Args:
        vocabulary: The plan's ids.
        kit: Whether the names are those that the kit writes itself: more words are banned there.
    """

    def __init__(self, vocabulary: Vocabulary, *, kit: bool) -> None:
        terms = patterns.IDENTITY + (patterns.KIT_WORDS if kit else ())
        self._terms = [(term.words, term.words.split()) for term in terms]
        self._ids = vocabulary.ids

    def faults(self, name: str) -> Iterator[tuple[str, str]]:
        """Yield term and reason for each thing in a name that gives the plan away."""
        words = words_of(name)
        for term, wanted in self._terms:
            if _stands_in(wanted, words):
                yield term, patterns.WHY_AWARENESS
        for one in self._ids:
            if _id_stands_in(one, name, words):
                yield one.id, why_own_id(one)


def _stands_in(wanted: list[str], words: list[str]) -> bool:
    """Find consecutive words, the last one in the plural too."""
    last = len(wanted) - 1
    return any(
        words[start : start + last] == wanted[:last]
        and words[start + last] in {wanted[last], wanted[last] + "s"}
        for start in range(len(words) - last)
    )


def _id_stands_in(one: PlanId, name: str, words: list[str]) -> bool:
    """Match an id as part of a name; one that is made of generic words only as the whole."""
    parts = words_of(one.id)
    if all(part in patterns.GENERIC_ID_WORDS for part in parts):
        return name.casefold() == one.id
    return bool(parts) and _stands_in(parts, words)


def identity_texts(document: Mapping[str, Json]) -> Iterator[str]:
    """Yield the names in a graph: texts of identity fields, keys, and rows' first columns."""
    pending: list[tuple[str, Json]] = list(document.items())
    yield from document
    while pending:
        field, value = pending.pop()
        if isinstance(value, dict):
            yield from value
            pending += value.items()
        elif isinstance(value, list):
            columns = patterns.IDENTITY_COLUMNS.get(field, 0)
            for one in value:
                if isinstance(one, list):
                    yield from (cell for cell in one[:columns] if isinstance(cell, str))
                pending.append((field, one))
        elif isinstance(value, str) and _normal(field) in patterns.IDENTITY_FIELDS:
            yield value


def all_texts(document: Mapping[str, Json]) -> Iterator[str]:
    """Yield every text of a document, keys too."""
    pending: list[Json] = [dict(document)]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            yield from value
            pending += value.values()
        elif isinstance(value, list):
            pending += value
        elif isinstance(value, str):
            yield value


def _normal(field: str) -> str:
    return field.replace("_", "").replace("-", "").lower()
