"""Row 39: answers from the question, not from the store."""

from __future__ import annotations

import hashlib

from base import Good, Object, run


class Wrong(Good):
    def probe(self, probe: Object, _held: Object) -> Object:
        query = str(probe["query"])
        hit = {"id": query, "score": 1.0, "sha256": hashlib.sha256(query.encode()).hexdigest()}
        return {"kind": probe["kind"], "query": query, "hits": [hit], "answered": True}


if __name__ == "__main__":
    run(Wrong)
