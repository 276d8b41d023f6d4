"""The executable: one verb, one JSON object on stdin, one on stdout; or ``serve PROJECT``.

Exit status: 0 done, 1 the project is there already or is not there, 2 a bad call.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

from benchlib.memory.reference import search, server, store
from benchlib.memory.reference.content import (
    ContentError,
    Json,
    Node,
    Probe,
    read_content,
    read_object,
    text_of,
)

_PROJECT = re.compile(r"[a-z0-9][a-z0-9-]{7,63}")
_PROBES = Path("artifacts/probes.json")


def main(argv: list[str]) -> int:
    """Run one verb; the working folder holds the projects."""
    try:
        if len(argv) == 2 and argv[0] == "serve":
            server.serve(_folder(argv[1]), sys.stdin.buffer, sys.stdout.buffer)
            return 0
        answer = _verb(argv)(sys.stdin.buffer.read())
    except ContentError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except (store.StoreError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(json.dumps(answer, ensure_ascii=False) + "\n")
    return 0


def _verb(argv: list[str]) -> Callable[[bytes], dict[str, Json]]:
    if len(argv) != 1 or argv[0] not in _VERBS:
        raise ContentError("restore, snapshot, destroy, or serve PROJECT")
    return _VERBS[argv[0]]


def _restore(data: bytes) -> dict[str, Json]:
    started = time.monotonic()
    request = read_object(data, "request", {"fixture", "graph_arm", "run_identity", "artifacts"})
    artifacts = request["artifacts"]
    if not isinstance(artifacts, dict) or set(artifacts) != {"evidence_corpus", "graph"}:
        raise ContentError("artifacts: not an object of exactly evidence_corpus, graph")
    corpus, graph = (_artifact(artifacts[name], name) for name in ("evidence_corpus", "graph"))
    project = text_of(request["run_identity"], "run_identity")
    store.build(_folder(project), read_content(corpus, graph, _PROBES))
    return {
        "project": project,
        "queue_before_count": 0,
        "restore_seconds": round(time.monotonic() - started, 6),
    }


def _snapshot(data: bytes) -> dict[str, Json]:
    started = time.monotonic()
    with closing(store.open_project(_folder(_requested(data)))) as database:
        content = store.read(database)
        vectors, words = store.count(database, "vec"), store.count(database, "words")
        texts = {node.id: node for node in content.nodes}
        probes: dict[str, Json] = {
            probe.name: {
                "kind": probe.kind,
                "query": probe.query,
                "hits": [_hit(hit, texts) for hit in _ANSWERS[probe.kind](database, probe.query)],
                "answered": True,
            }
            for probe in _answerable(content.probes)
        }
    waiting = sum(abs(len(content.nodes) - indexed) for indexed in (vectors, words))
    return {
        "state": {
            "digest": store.state_sha256(content, vectors),
            "counts": {
                "nodes": len(content.nodes),
                "edges": len(content.edges),
                "vectors": vectors,
            },
            "schema": "reference-1",
        },
        "probes": probes,
        "queue_after_count": waiting,
        "snapshot_seconds": round(time.monotonic() - started, 6),
    }


def _destroy(data: bytes) -> dict[str, Json]:
    project = _requested(data)
    if _PROJECT.fullmatch(project):  # another name was never made, which is no fault
        store.destroy(Path(project))
    return {"ok": True}


_ANSWERS: Mapping[str, Callable[[sqlite3.Connection, str], list[search.Hit]]] = {
    "fulltext": search.full_text,
    "semantic": search.semantic,
    "graph": search.neighbours,
}
_VERBS: Mapping[str, Callable[[bytes], dict[str, Json]]] = {
    "restore": _restore,
    "snapshot": _snapshot,
    "destroy": _destroy,
}


def _answerable(probes: tuple[Probe, ...]) -> tuple[Probe, ...]:
    for probe in probes:
        if probe.kind not in _ANSWERS:
            raise ContentError(f"the probe {probe.name!r} is of the unknown kind {probe.kind!r}")
    return probes


def _hit(hit: search.Hit, nodes: Mapping[str, Node]) -> dict[str, Json]:
    digest = hashlib.sha256(nodes[hit.id].text.encode()).hexdigest()
    return {"id": hit.id, "score": hit.score, "sha256": digest}


def _requested(data: bytes) -> str:
    return text_of(read_object(data, "request", {"project"})["project"], "project")


def _folder(project: str) -> Path:
    """A project is a folder of its own name; the pattern keeps it below the working folder."""
    if not _PROJECT.fullmatch(project):
        raise store.StoreError(f"there is no project {project[:80]!r}")
    return Path(project)


def _artifact(entry: Json, name: str) -> Path:
    """Return an artifact's path after its bytes were found to be the ones that were named."""
    if not isinstance(entry, dict) or set(entry) != {"path", "sha256", "bytes"}:
        raise ContentError(f"{name}: not an object of exactly bytes, path, sha256")
    path = Path(text_of(entry["path"], name))
    data = path.read_bytes()
    if len(data) != entry["bytes"] or hashlib.sha256(data).hexdigest() != entry["sha256"]:
        raise ContentError(f"{name}: the file is not the one that the request names")
    return path


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
