"""The file of one project: built once, in order, then only read.

Nodes, edges and vectors are tables, words an FTS5 index. The state digest covers what the
memory says, not how SQLite lays it out: the canonical projection of ``projection``.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import closing
from pathlib import Path

from benchlib.memory.reference import lexical
from benchlib.memory.reference.content import SCHEMA, Content, Node, Probe

FILE = "memory.sqlite"
_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE node (id TEXT PRIMARY KEY, kind TEXT NOT NULL, title TEXT NOT NULL,
                   body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE edge (src TEXT NOT NULL, rel TEXT NOT NULL, dst TEXT NOT NULL,
                   PRIMARY KEY (src, rel, dst)) WITHOUT ROWID;
CREATE TABLE vec (id TEXT PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5(id UNINDEXED, title, body,
                                      tokenize = 'unicode61 remove_diacritics 2');
"""


class StoreError(Exception):
    """A project is there already, or is not there."""


def build(folder: Path, content: Content) -> None:
    """Build the file of a project, all or nothing.

    Args:
        folder: The project's folder; made here.
        content: What the memory holds.

    Raises:
        StoreError: The project lives already; memories are never merged.
    """
    folder.mkdir(exist_ok=True)
    if (folder / FILE).exists():
        raise StoreError(f"the project {folder.name!r} lives already")
    part = folder / f"{FILE}.part"  # a killed restore may have left one
    part.unlink(missing_ok=True)
    with closing(sqlite3.connect(part, isolation_level=None)) as database:
        _fill(database, content)
    with closing(open_file(part)) as database:
        if read(database) != content:
            raise StoreError("the file does not hold what was written")
    part.rename(folder / FILE)


def _fill(database: sqlite3.Connection, content: Content) -> None:
    """Write in sorted order; the last VACUUM lays the pages out afresh."""
    database.execute("PRAGMA page_size = 4096")
    database.execute("PRAGMA journal_mode = OFF")
    database.execute("PRAGMA synchronous = OFF")
    database.executescript(_TABLES)
    database.execute("BEGIN")
    probes = [[probe.name, probe.kind, probe.query] for probe in content.probes]
    meta = {"schema": SCHEMA, "embedding": lexical.NAME, "probes": json.dumps(probes)}
    database.executemany("INSERT INTO meta VALUES (?, ?)", sorted(meta.items()))
    rows = [(node.id, node.kind, node.title, node.body) for node in content.nodes]
    database.executemany("INSERT INTO node VALUES (?, ?, ?, ?)", rows)
    database.executemany("INSERT INTO edge VALUES (?, ?, ?)", content.edges)
    vectors = [(node.id, lexical.pack(lexical.embed(node.text))) for node in content.nodes]
    database.executemany("INSERT INTO vec VALUES (?, ?)", vectors)
    texts = [(node.id, node.title, node.body) for node in content.nodes]
    database.executemany("INSERT INTO words (id, title, body) VALUES (?, ?, ?)", texts)
    database.execute("INSERT INTO words (words) VALUES ('optimize')")
    database.execute("COMMIT")
    database.execute("VACUUM")


def open_project(folder: Path) -> sqlite3.Connection:
    """Open a project to read it; nothing here can write.

    Raises:
        StoreError: There is no such project.
    """
    if not (folder / FILE).is_file():
        raise StoreError(f"there is no project {folder.name!r}")
    return open_file(folder / FILE)


def open_file(path: Path) -> sqlite3.Connection:
    """Open a database read-only."""
    uri = f"{path.resolve().as_uri()}?mode=ro"
    return sqlite3.connect(uri, uri=True, isolation_level=None)


def destroy(folder: Path) -> None:
    """Remove a project, or what a killed restore left of it; no project is no fault."""
    for name in (FILE, f"{FILE}.part"):
        (folder / name).unlink(missing_ok=True)
    if folder.is_dir():
        folder.rmdir()


def read(database: sqlite3.Connection) -> Content:
    """Read everything back."""
    nodes = database.execute("SELECT id, kind, title, body FROM node ORDER BY id")
    edges = database.execute("SELECT src, rel, dst FROM edge ORDER BY src, rel, dst")
    (probes,) = database.execute("SELECT value FROM meta WHERE key = 'probes'").fetchone()
    return Content(
        nodes=tuple(Node(*row) for row in nodes),
        edges=tuple((source, relation, target) for source, relation, target in edges),
        probes=tuple(Probe(*row) for row in json.loads(probes)),
    )


def projection(content: Content, vectors: int) -> bytes:
    """Return the canonical bytes that the state digest is taken of.

    Strings, integers, lists and ASCII keys only, for which these are the bytes of RFC 8785.
    """
    state = {
        "schema": SCHEMA,
        "nodes": [[node.id, node.kind, node.title, node.body] for node in content.nodes],
        "edges": [list(edge) for edge in content.edges],
        "embedding": {"name": lexical.NAME, "dim": lexical.DIMENSIONS, "vectors": vectors},
    }
    text = json.dumps(state, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return text.encode()


def state_sha256(content: Content, vectors: int) -> str:
    """Return the digest of the canonical projection."""
    return hashlib.sha256(projection(content, vectors)).hexdigest()


def count(database: sqlite3.Connection, table: str) -> int:
    """Count the rows of ``vec`` or ``words``: each node must be in both indexes."""
    queries = {"vec": "SELECT count(*) FROM vec", "words": "SELECT count(*) FROM words"}
    (number,) = database.execute(queries[table]).fetchone()
    return int(number)
