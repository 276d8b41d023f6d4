"""Row 7: the top level is something else."""

from __future__ import annotations

import json

from base import BadRestore, Object, run


class Wrong(BadRestore):
    def text(self, answer: Object) -> str:
        return {"array": json.dumps([answer]), "string": json.dumps("ok"), "null": "null"}[
            self.words[0]
        ]


if __name__ == "__main__":
    run(Wrong)
