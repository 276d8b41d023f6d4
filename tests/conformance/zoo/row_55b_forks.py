"""Row 55: forks as often as it can."""

from __future__ import annotations

import os
import time

from base import Good, Object, run


class Wrong(Good):
    def emit(self, verb: str, answer: Object) -> None:
        super().emit(verb, answer)
        for _ in range(150 if verb == "restore" else 0):
            if os.fork() == 0:
                os.setsid()
                time.sleep(1000)


if __name__ == "__main__":
    run(Wrong)
