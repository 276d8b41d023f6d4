"""Row 26: stderr holds escapes, NULs, and a mebibyte without a line end."""

from __future__ import annotations

import sys

from base import Good, Object, run


class Wrong(Good):
    def emit(self, verb: str, answer: Object) -> None:
        sys.stderr.write("\x1b]0;owned\x07\x1b[2J\0" + "y" * 1_048_576)
        super().emit(verb, answer)


if __name__ == "__main__":
    run(Wrong)
