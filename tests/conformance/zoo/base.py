"""A small provisioner that keeps the protocol; each program beside it breaks one rule of it.

A project is one JSON file in the working folder, named by its run identity.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

Object = dict[str, Any]  # a foreign program reads what it is given


def digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def grams(text: str) -> set[str]:
    return {text[start : start + 4].lower() for start in range(len(text) - 3)}


class Good:
    """Everything right; ``words`` are the arguments before the verb."""

    def __init__(self, words: list[str]) -> None:
        self.words = words
        self.folder = Path()

    def main(self, verb: str) -> None:
        request = json.loads(self.read())
        self.emit(verb, getattr(self, verb)(request))

    def read(self) -> str:
        return sys.stdin.read()

    def emit(self, _verb: str, answer: Object) -> None:
        self.write(json.dumps(answer))

    def write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    def restore(self, request: Object) -> Object:
        project = self.name(request)
        path = self.path(project)
        if path.exists():
            sys.exit(f"{project} lives")
        part = path.with_suffix(".part")
        part.write_text(json.dumps(self.load(request)))
        part.rename(path)
        return {"project": project, "queue_before_count": 0, "restore_seconds": 0.01}

    def name(self, request: Object) -> str:
        return str(request["run_identity"])

    def path(self, project: str) -> Path:
        return self.folder / f"{project}.json"

    def load(self, request: Object) -> Object:
        artifacts = request["artifacts"]
        lines = Path(artifacts["evidence_corpus"]["path"]).read_text().splitlines()
        notes = {note["id"]: note for note in map(json.loads, lines)}
        graph = json.loads(Path(artifacts["graph"]["path"]).read_text())
        nodes = [notes[one] if isinstance(one, str) else one for one in graph["nodes"]]
        texts = {node["id"]: f"{node['title']}\n{node['body']}" for node in nodes}
        probes = json.loads(Path("artifacts/probes.json").read_text())["probes"]
        return {"texts": texts, "edges": graph["edges"], "probes": probes}

    def snapshot(self, request: Object) -> Object:
        path = self.path(str(request["project"]))
        if not path.exists():
            sys.exit("there is no such project")
        held = json.loads(path.read_text())
        return {
            "state": self.state(held),
            "probes": {probe["name"]: self.probe(probe, held) for probe in held["probes"]},
            "queue_after_count": 0,
            "snapshot_seconds": 0.01,
        }

    def state(self, held: Object) -> Object:
        count = len(held["texts"])
        return {"digest": digest(held), "counts": {"items": count}, "schema": "zoo-1"}

    def probe(self, probe: Object, held: Object) -> Object:
        ids = getattr(self, str(probe["kind"]))(probe["query"], held)
        hits = [
            {"id": one, "score": None, "sha256": hashlib.sha256(text.encode()).hexdigest()}
            for one in ids
            if (text := held["texts"][one])
        ]
        return {"kind": probe["kind"], "query": probe["query"], "hits": hits, "answered": True}

    def fulltext(self, query: str, held: Object) -> list[str]:
        return [one for one, text in held["texts"].items() if query in text]

    def semantic(self, query: str, held: Object) -> list[str]:
        asked = grams(query)
        scores = {one: len(asked & grams(text)) for one, text in held["texts"].items()}
        return sorted((one for one in scores if scores[one]), key=lambda one: -scores[one])[:3]

    def graph(self, query: str, held: Object) -> list[str]:
        return [target for source, _, target in held["edges"] if source == query]

    def destroy(self, request: Object) -> Object:
        self.path(str(request["project"])).unlink(missing_ok=True)
        return {"ok": True}


class BadRestore(Good):
    """Right but for how the answer of ``restore`` is printed: see ``text``."""

    def emit(self, verb: str, answer: Object) -> None:
        self.write(self.text(answer) if verb == "restore" else json.dumps(answer))

    def text(self, answer: Object) -> str:
        return json.dumps(answer)


class BadSnapshot(BadRestore):
    """The same for ``snapshot``."""

    def emit(self, verb: str, answer: Object) -> None:
        self.write(self.text(answer) if verb == "snapshot" else json.dumps(answer))


def run(kind: type[Good]) -> None:
    kind(sys.argv[1:-1]).main(sys.argv[-1])
