"""A memory system in thirty lines: notes in one file, found by the words in them.

The runner starts it with one verb in a folder of its own, writes one JSON object to its
stdin and reads one from its stdout; all else belongs on stderr. What the request names
lies below that folder, and beside it `artifacts/probes.json`, the questions that every
snapshot answers.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

Object = dict[str, Any]


def restore(request: Object) -> Object:
    artifacts = request["artifacts"]
    with Path(artifacts["evidence_corpus"]["path"]).open(encoding="utf-8") as lines:
        notes = {note["id"]: note for note in map(json.loads, lines)}
    graph = json.loads(Path(artifacts["graph"]["path"]).read_bytes())
    nodes = [notes[node] if isinstance(node, str) else node for node in graph["nodes"]]
    texts = {node["id"]: f"{node['title']}\n{node['body']}" for node in nodes}
    with store(request["run_identity"]).open("x") as file:  # "x": never into a live project
        json.dump(texts, file)
    return {"project": request["run_identity"], "queue_before_count": 0, "restore_seconds": 0}


def snapshot(request: Object) -> Object:
    texts = json.loads(store(request["project"]).read_bytes())
    questions = json.loads(Path("artifacts/probes.json").read_bytes())["probes"]
    digest = sha256(json.dumps(texts, sort_keys=True))
    return {
        "state": {"digest": digest, "counts": {"items": len(texts)}, "schema": "example-1"},
        "probes": {question["name"]: answer(question, texts) for question in questions},
        "queue_after_count": 0,
        "snapshot_seconds": 0,
    }


def destroy(request: Object) -> Object:
    store(request["project"]).unlink(missing_ok=True)
    return {"ok": True}


def answer(question: Object, texts: dict[str, str]) -> Object:
    """Search by words; of meaning and of edges it says that it can't answer."""
    can = question["kind"] == "fulltext"
    found = [one for one, text in texts.items() if can and question["query"] in text]
    hits = [{"id": one, "score": None, "sha256": sha256(texts[one])} for one in found]
    return {"kind": question["kind"], "query": question["query"], "hits": hits, "answered": can}


def store(project: str) -> Path:
    return Path(f"{project}.json")


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


if __name__ == "__main__":
    verb = {"restore": restore, "snapshot": snapshot, "destroy": destroy}[sys.argv[1]]
    sys.stdout.write(json.dumps(verb(json.load(sys.stdin))))
