r"""What a memory is made from: the evidence corpus and the graphs, as files of a fixture.

The **evidence corpus** is JSON Lines: one object a line, each line ended, no blank line.

    {"id": "n-0412", "kind": "decision", "title": "Label width", "body": "48 mm, because …"}

Exactly these four strings; each id once; the title is one line. An item's *text* is
``title + "\n" + body``: its SHA-256 is what a probe's hit and the mark of a delivery carry.

A **graph** says what of it is in one memory, and how the items hang together.

    {"schema": "reference-1",
     "nodes": ["n-0412", {"id": "k-1", "kind": "topic", "title": "Printing", "body": ""}],
     "edges": [["n-0412", "about", "k-1"]]}

A node is an id of the corpus, or a whole item that the corpus does not hold. Both ends of
an edge are listed nodes. A graph of another ``schema`` belongs to another memory system:
the kit does not look inside, and knows the texts of the corpus alone.

The mark of a delivery may not stand in a text, or a delivery could not be told from it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from benchlib.contracts.base import Broken, Contract, Identifier, RelationError, repeated
from benchlib.contracts.fixture import Fixture
from benchlib.contracts.reading import StrictJsonError, parse, read, read_bytes
from benchlib.errors import InputError, InWords

REFERENCE_SCHEMA = "reference-1"
_MARK = re.compile(r"<!-- /?memory ")
_ITEM_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")


def _item_id(text: str) -> str:
    if not _ITEM_ID.fullmatch(text):
        msg = "an item's id: 1 to 128 letters, digits, '.', '_', ':' and '-', not a sign first"
        raise ValueError(msg)
    return text


def _title(text: str) -> str:
    if not text or "\n" in text or "\r" in text:
        msg = "one line that is not empty"
        raise ValueError(msg)
    return text


ItemId = Annotated[str, AfterValidator(_item_id)]


class Item(Contract):
    """One text of a memory."""

    id: ItemId
    kind: Identifier
    title: Annotated[str, AfterValidator(_title)]
    body: str

    @property
    def text(self) -> str:
        """What is delivered, and what its digest is taken of."""
        return f"{self.title}\n{self.body}"

    @model_validator(mode="after")
    def _holds_no_mark(self) -> Item:
        mark = _MARK.search(self.text)
        if mark:
            raise RelationError(Broken((), mark.group(), "a text without the mark of a delivery"))
        return self


class Graph(Contract):
    """The content of one memory."""

    schema_: Annotated[Literal["reference-1"], Field(alias="schema")]
    nodes: tuple[ItemId | Item, ...]
    edges: tuple[tuple[ItemId, Identifier, ItemId], ...]

    @property
    def own_items(self) -> tuple[Item, ...]:
        """The nodes that no evidence corpus holds."""
        return tuple(node for node in self.nodes if isinstance(node, Item))

    @model_validator(mode="after")
    def _ids_resolve(self) -> Graph:
        ids = [node.id if isinstance(node, Item) else node for node in self.nodes]
        known = set(ids)
        broken = [
            Broken(("edges", number, place), edge[place], "an id that is listed among the nodes")
            for number, edge in enumerate(self.edges)
            for place in (0, 2)
            if edge[place] not in known
        ]
        if len(known) != len(ids) or len(set(self.edges)) != len(self.edges):
            broken += repeated(("nodes",), ids)
            broken += repeated(("edges",), [" ".join(edge) for edge in self.edges])
        if broken:
            raise RelationError(*broken)
        return self


def read_items(data: bytes, place: str) -> tuple[Item, ...]:
    """Read an evidence corpus.

    Args:
        data: The bytes of the file.
        place: Its name in messages.

    Returns:
        The items, in the order of the file.

    Raises:
        InputError: A line breaks the format, or an id stands twice.
    """
    *lines, rest = data.split(b"\n")
    if rest:
        raise InputError(
            place,
            f"line {len(lines) + 1}",
            found=InWords("no line end"),
            allowed="lines that all end, the last one too",
            next_step="add the line end; the file may have been cut",
        )
    items = tuple(read(Item, line, f"{place}:{number}") for number, line in enumerate(lines, 1))
    _refuse_repeated([item.id for item in items], place)
    return items


def read_graph(data: bytes, place: str, corpus: Iterable[Item]) -> Graph | None:
    """Read a graph of our own schema.

    Args:
        data: The bytes of the file.
        place: Its name in messages.
        corpus: The items of the evidence corpus.

    Returns:
        The graph; None when it is another system's, whose inside is not ours to read.

    Raises:
        InputError: It says that it is of our schema, and breaks it.
    """
    try:
        document = parse(data)
    except StrictJsonError:
        return None
    if document.get("schema") != REFERENCE_SCHEMA:
        return None
    graph = read(Graph, data, place)
    known = {item.id for item in corpus}
    _refuse_repeated([*known, *(item.id for item in graph.own_items)], place)
    unknown = [node for node in graph.nodes if isinstance(node, str) and node not in known]
    if unknown:
        raise InputError(
            place,
            "nodes",
            found=unknown[0],
            allowed="ids of the evidence corpus, or whole items",
            next_step="add the item to the evidence corpus, or take the node out",
        )
    return graph


def texts_of(corpus: bytes, graph: bytes, place: str) -> dict[str, str]:
    """Return the texts that one graph arm's memory may answer with, by id."""
    items = read_items(corpus, f"{place}: evidence corpus")
    found = read_graph(graph, f"{place}: graph", items)
    return {item.id: item.text for item in (*items, *(found.own_items if found else ()))}


def fixture_texts(fixture: Fixture, root: Path) -> Mapping[str, str]:
    """Return every text of a fixture by its id, over all its graph arms.

    Args:
        fixture: The fixture.
        root: The folder that its artifacts lie below.

    Returns:
        Id to text, in the order of the ids.

    Raises:
        InputError: A file is absent or breaks its format, or two graph arms give one id
            to two texts.
    """
    corpus = read_bytes(root / fixture.evidence_corpus.path, fixture.evidence_corpus.path)
    texts: dict[str, str] = {}
    for arm in fixture.graph_arms:
        graph = read_bytes(root / arm.graph.path, arm.graph.path)
        for item, text in texts_of(corpus, graph, arm.graph.path).items():
            if texts.setdefault(item, text) != text:
                raise InputError(
                    arm.graph.path,
                    "nodes",
                    found=item,
                    allowed="one text for each id, in all graphs of a fixture",
                    next_step="give one of the two items another id",
                )
    return dict(sorted(texts.items()))


def text_sha256(text: str) -> str:
    """Return the digest that a hit carries for an item of this text."""
    return hashlib.sha256(text.encode()).hexdigest()


def _refuse_repeated(ids: list[str], place: str) -> None:
    repeated = (
        sorted({one for one in ids if ids.count(one) > 1}) if len(set(ids)) < len(ids) else []
    )
    if repeated:
        raise InputError(
            place,
            "id",
            found=repeated[0],
            allowed="each id once, in corpus and graph together",
            next_step="give one of the two items another id",
        )
