"""Row 25: stderr holds a valid but different object."""

from __future__ import annotations

import json
import sys

from base import Good, Object, run


class Wrong(Good):
    def emit(self, verb: str, answer: Object) -> None:
        json.dump({**answer, "project": "other"}, sys.stderr)
        super().emit(verb, answer)


if __name__ == "__main__":
    run(Wrong)
