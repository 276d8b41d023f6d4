"""Row 27: never reads stdin: the working folder says all that it needs."""

from __future__ import annotations

import hashlib
from pathlib import Path

from base import Good, run


class Wrong(Good):
    def main(self, verb: str) -> None:
        artifacts = {
            name: {"path": str(path)}
            for name in ("evidence-corpus", "graph")
            for path in Path("artifacts").glob(f"{name}*")
        }
        artifacts["evidence_corpus"] = artifacts.pop("evidence-corpus", {})
        own = "r-" + hashlib.sha256(str(Path.cwd()).encode()).hexdigest()[:20]
        request = {"run_identity": own, "project": own, "artifacts": artifacts}
        self.emit(verb, getattr(self, verb)(request))
        if "late" in self.words:
            self.read()


if __name__ == "__main__":
    run(Wrong)
