"""Row 24: stderr without end, stdout fine."""

from __future__ import annotations

import sys

from base import Good, Object, run


class Wrong(Good):
    def emit(self, verb: str, answer: Object) -> None:
        for _ in range(20):
            sys.stderr.write("x" * 1_000_000)
        super().emit(verb, answer)


if __name__ == "__main__":
    run(Wrong)
