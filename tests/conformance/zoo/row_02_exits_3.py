"""Row 2: a valid object, then exit status 3."""

from __future__ import annotations

import sys

from base import Good, Object, run


class Wrong(Good):
    def emit(self, verb: str, answer: Object) -> None:
        super().emit(verb, answer)
        sys.exit(3 if verb == "restore" else 0)


if __name__ == "__main__":
    run(Wrong)
