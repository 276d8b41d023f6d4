"""Small fixtures on disk, and provisioners that are started on them."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchlib.contracts.cohort import Provisioner
from benchlib.contracts.fixture import Artifact, Fixture, GitCorpus, GraphArm, Probe
from benchlib.memory import Restored, restore

NOTES = (
    {"id": "n-1", "kind": "note", "title": "Width", "body": "Labels are 58 mm wide."},
    {"id": "n-2", "kind": "note", "title": "Radio", "body": "Answer to quartzite-heron."},
    {"id": "n-3", "kind": "note", "title": "Ferry", "body": "The last ferry\nleaves at 23:40."},
)
TOPIC = {"id": "k-1", "kind": "topic", "title": "Printing", "body": ""}
REFERENCE = (sys.executable, "-B", "-m", "benchlib.memory.reference")
IDENTITY = "r-0123456789ab"


def pinned(root: Path, name: str) -> Artifact:
    data = (root / name).read_bytes()
    return Artifact(path=name, sha256=hashlib.sha256(data).hexdigest(), bytes=len(data))


def graph_bytes(
    nodes: Sequence[object], edges: Sequence[Sequence[str]] = (), schema: str = "reference-1"
) -> bytes:
    return json.dumps({"schema": schema, "nodes": nodes, "edges": edges}).encode()


def corpus_bytes(notes: Sequence[Mapping[str, str]] = NOTES) -> bytes:
    return "".join(f"{json.dumps(note)}\n" for note in notes).encode()


def write_fixture(root: Path) -> Fixture:
    root.mkdir(exist_ok=True)
    (root / "notes.jsonl").write_bytes(corpus_bytes())
    edges = [["n-1", "about", "k-1"], ["n-2", "near", "n-1"]]
    (root / "full.json").write_bytes(graph_bytes(["n-1", "n-2", "n-3", TOPIC], edges))
    (root / "none.json").write_bytes(graph_bytes([]))
    return Fixture(
        id="labels",
        corpus=GitCorpus(kind="git", location="none", commit="0" * 40),
        evidence_corpus=pinned(root, "notes.jsonl"),
        graph_arms=(
            GraphArm(id="full", graph=pinned(root, "full.json"), least_items=4, probes_answer=True),
            GraphArm(
                id="none", graph=pinned(root, "none.json"), least_items=0, probes_answer=False
            ),
        ),
        probes=(
            _probe("word", "fulltext", "quartzite-heron", "n-2"),
            _probe("like", "semantic", "how wide is a label", "n-1"),
            _probe("edge", "graph", "n-1", "k-1"),
        ),
        delivery_phrases=(),
    )


def _probe(name: str, kind: str, query: str, expected_id: str) -> Probe:
    document = {"name": name, "kind": kind, "query": query, "expected_id": expected_id}
    return Probe.model_validate({**document, "within_rank": 2, "is_required": True})


def provisioner(*argv: str, environment: Sequence[str] = ()) -> Provisioner:
    return Provisioner(
        name="reference",
        build="1",
        argv=argv or REFERENCE,
        serve=(*REFERENCE, "serve"),
        embedding="lexical",
        environment=tuple(environment),
    )


def restored(
    root: Path,
    fixture: Fixture,
    working: Path,
    *,
    graph_arm: str = "full",
    argv: Sequence[str] = (),
) -> Restored:
    return restore(
        provisioner(*argv),
        fixture_root=root,
        fixture=fixture,
        graph_arm=graph_arm,
        run_identity=IDENTITY,
        working=working,
    )
