"""Row 45: a project's name that is no name."""

from __future__ import annotations

import json

from base import BadRestore, Object, run


class Wrong(BadRestore):
    def text(self, answer: Object) -> str:
        names = {"path": "../x", "blank": "a b", "line": "a\n", "long": "a" * 10_000, "empty": ""}
        return json.dumps({**answer, "project": names[self.words[0]]})


if __name__ == "__main__":
    run(Wrong)
