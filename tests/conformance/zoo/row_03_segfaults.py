"""Row 3: a valid object, then a segmentation fault."""

from __future__ import annotations

import os
import signal

from base import Good, Object, run


class Wrong(Good):
    def emit(self, verb: str, answer: Object) -> None:
        super().emit(verb, answer)
        if verb == "restore":
            os.kill(os.getpid(), signal.SIGSEGV)


if __name__ == "__main__":
    run(Wrong)
