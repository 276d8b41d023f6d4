"""Questions to a memory: words, likeness, neighbours. Equal ranks are ordered by id."""

from __future__ import annotations

import sqlite3
from itertools import islice
from typing import NamedTuple

from benchlib.memory.reference import lexical

MOST_HITS = 100
_CANDIDATES = 50
_RANK_OFFSET = 60  # of reciprocal rank fusion: how little the first place is worth over the second
_DEEPEST = 3


class Hit(NamedTuple):
    """One node that answers, and how well; None where answers have no score."""

    id: str
    score: float | None


def full_text(database: sqlite3.Connection, query: str) -> list[Hit]:
    """Find the nodes that hold every word, best first.

    Each blank-separated piece is quoted: to FTS5 a bare ``quartzite-heron`` is no text.
    """
    return _match(database, " ".join(_quoted(piece) for piece in query.split()))


def semantic(database: sqlite3.Connection, query: str) -> list[Hit]:
    """Find the nodes whose texts are alike, nearest first."""
    asked = lexical.Query(query)
    scored = [
        (asked.similarity_ppm(vector), node)
        for node, vector in database.execute("SELECT id, v FROM vec")
    ]
    nearest = sorted((-ppm, node) for ppm, node in scored if ppm)
    alike = (
        Hit(node, -ppm / 1_000_000)
        for ppm, node in nearest
        if asked.shares_a_part(_text(database, node))
    )
    return list(islice(alike, MOST_HITS))


def neighbours(database: sqlite3.Connection, start: str, *, depth: int = _DEEPEST) -> list[Hit]:
    """Find the nodes that edges lead to, in either direction: near ones first, then by id."""
    rows = database.execute(
        """
        WITH RECURSIVE
          link(a, b) AS (SELECT src, dst FROM edge UNION SELECT dst, src FROM edge),
          walk(id, far) AS (
            SELECT ?, 0 UNION SELECT b, far + 1 FROM walk JOIN link ON a = id WHERE far < ?)
        SELECT id, min(far) AS nearest FROM walk WHERE id <> ? GROUP BY id
        ORDER BY nearest, id LIMIT ?
        """,
        (start, depth, start, MOST_HITS),
    )
    return [Hit(node, None) for node, _ in rows]


def search(database: sqlite3.Connection, query: str, limit: int) -> list[Hit]:
    """Find what an agent asks for: words and likeness, joined by reciprocal rank.

    Any telling word will do, for agents ask in sentences.
    """
    telling = [word for word in lexical.words(query) if len(word) > 3 or not word.isalpha()]
    wanted = " OR ".join(_quoted(word) for word in dict.fromkeys(telling or lexical.words(query)))
    totals: dict[str, int] = {}
    for ranked in (_match(database, wanted), semantic(database, query)):
        for rank, hit in enumerate(ranked[:_CANDIDATES], 1):
            totals[hit.id] = totals.get(hit.id, 0) + 10**9 // (_RANK_OFFSET + rank)
    best = sorted((-total, node) for node, total in totals.items())
    return [Hit(node, -total / 10**9) for total, node in best[:limit]]


def _text(database: sqlite3.Connection, node: str) -> str:
    title, body = database.execute("SELECT title, body FROM node WHERE id = ?", (node,)).fetchone()
    return f"{title}\n{body}"


def _match(database: sqlite3.Connection, expression: str) -> list[Hit]:
    if not expression:
        return []
    rows = database.execute(
        "SELECT id, bm25(words) FROM words WHERE words MATCH ? ORDER BY bm25(words), id LIMIT ?",
        (expression, MOST_HITS),
    )
    return [Hit(node, -rank) for node, rank in rows]


def _quoted(piece: str) -> str:
    doubled = piece.replace("\0", " ").replace('"', '""')
    return f'"{doubled}"'
