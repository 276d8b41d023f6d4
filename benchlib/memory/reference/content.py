"""What a memory is made of: notes of the evidence corpus, chosen and joined by a graph.

The formats are those of ``benchlib.memory.evidence``, read here with the standard library
alone. Refused, with the line or the field named: a key twice, a field too many or too few,
a value of another type, an id that stands twice or is not there, a text that holds the
mark of a delivery. Tuples with names, for ``dataclasses`` would cost a fifth of the start.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple, TypeVar

Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]

T = TypeVar("T")

SCHEMA = "reference-1"
_FIELDS = ("id", "kind", "title", "body")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_MARK = re.compile(r"<!-- /?memory ")


class ContentError(Exception):
    """A request or an artifact breaks its format; the text says where and how."""


class Node(NamedTuple):
    """One item of the memory."""

    id: str
    kind: str
    title: str
    body: str

    @property
    def text(self) -> str:
        """What is delivered, and what its digest is taken of."""
        return f"{self.title}\n{self.body}"


class Probe(NamedTuple):
    """A question that every snapshot answers."""

    name: str
    kind: str
    query: str


class Content(NamedTuple):
    """A whole memory: nodes by id, edges in order."""

    nodes: tuple[Node, ...]
    edges: tuple[tuple[str, str, str], ...]
    probes: tuple[Probe, ...]


def read_content(corpus: Path, graph: Path, probes: Path) -> Content:
    """Read the two artifacts and the questions.

    Args:
        corpus: The notes, one JSON object a line.
        graph: Which of them are in the memory, and their edges.
        probes: The questions that a snapshot answers.

    Returns:
        The content, sorted.

    Raises:
        ContentError: A file breaks its format.
    """
    notes = _notes(corpus)
    document = read_object(graph.read_bytes(), graph.name, {"schema", "nodes", "edges"})
    if document["schema"] != SCHEMA:
        raise ContentError(f"{graph.name}: schema is {document['schema']!r}, not {SCHEMA!r}")
    nodes = [_graph_node(entry, notes) for entry in _list(document["nodes"], "nodes")]
    ids = _once([node.id for node in nodes], "nodes")
    edges = [_edge(entry, ids) for entry in _list(document["edges"], "edges")]
    _once(edges, "edges")
    return Content(tuple(sorted(nodes)), tuple(sorted(edges)), _probes(probes))


def read_object(data: bytes, place: str, fields: set[str]) -> dict[str, Json]:
    """Read one JSON object that has exactly the given fields."""
    try:
        value = json.loads(data.decode("utf-8"), object_pairs_hook=_pairs)
    except (ValueError, RecursionError) as error:
        raise ContentError(f"{place}: {error}") from error
    return _exactly(value, place, fields)


def text_of(value: Json, place: str, pattern: re.Pattern[str] | None = None) -> str:
    """Return a string field that keeps its pattern."""
    if not isinstance(value, str) or (pattern and not pattern.fullmatch(value)):
        raise ContentError(f"{place}: {value!r} is not allowed here")
    return value


def _pairs(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key stands twice")
    return result


def _exactly(value: Json, place: str, fields: set[str]) -> dict[str, Json]:
    if not isinstance(value, dict) or set(value) != fields:
        raise ContentError(f"{place}: not an object of exactly {', '.join(sorted(fields))}")
    return value


def _notes(corpus: Path) -> dict[str, Node]:
    lines = corpus.read_bytes().split(b"\n")
    if lines.pop():
        raise ContentError(f"{corpus.name}: the last line does not end")
    notes = []
    for number, line in enumerate(lines, 1):
        place = f"{corpus.name}:{number}"
        notes.append(_node(read_object(line, place, set(_FIELDS)), place))
    _once([note.id for note in notes], corpus.name)
    return {note.id: note for note in notes}


def _node(entry: Json, place: str) -> Node:
    fields = _exactly(entry, place, set(_FIELDS))
    title, body = text_of(fields["title"], place), text_of(fields["body"], place)
    try:
        f"{title}{body}".encode()
    except UnicodeEncodeError as error:
        raise ContentError(f"{place}: a lone surrogate") from error
    if not title or "\n" in title or "\r" in title:
        raise ContentError(f"{place}: the title is not one line")
    if _MARK.search(f"{title}\n{body}"):
        raise ContentError(f"{place}: the text holds the mark of a delivery")
    return Node(
        text_of(fields["id"], place, _ID), text_of(fields["kind"], place, _NAME), title, body
    )


def _graph_node(entry: Json, notes: dict[str, Node]) -> Node:
    if isinstance(entry, str):
        if entry not in notes:
            raise ContentError(f"nodes: {entry!r} is not in the evidence corpus")
        return notes[entry]
    node = _node(entry, "nodes")
    if node.id in notes:
        raise ContentError(f"nodes: {node.id!r} is in the evidence corpus; name it by its id")
    return node


def _edge(entry: Json, ids: set[str]) -> tuple[str, str, str]:
    parts = _list(entry, "edges")
    if len(parts) != 3:
        raise ContentError(f"edges: {entry!r} is not [source, relation, target]")
    source, relation, target = (text_of(part, "edges") for part in parts)
    text_of(relation, "edges", _NAME)
    for end in (source, target):
        if end not in ids:
            raise ContentError(f"edges: {end!r} is not among the nodes")
    return source, relation, target


def _probes(path: Path) -> tuple[Probe, ...]:
    document = read_object(path.read_bytes(), path.name, {"probes"})
    probes = []
    for entry in _list(document["probes"], "probes"):
        fields = _exactly(entry, "probes", {"name", "kind", "query"})
        name, kind, query = (text_of(fields[one], "probes") for one in ("name", "kind", "query"))
        probes.append(Probe(name, kind, query))
    return tuple(probes)


def _list(value: Json, place: str) -> list[Json]:
    if not isinstance(value, list):
        raise ContentError(f"{place}: not a list")
    return value


def _once(values: list[T], place: str) -> set[T]:
    seen = set(values)
    if len(seen) != len(values):
        raise ContentError(f"{place}: something stands twice")
    return seen
