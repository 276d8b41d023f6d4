"""Row 21: ignores SIGTERM."""

from __future__ import annotations

import signal
import time

from base import Good, Object, run


class Wrong(Good):
    def emit(self, verb: str, answer: Object) -> None:
        if verb == "restore":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            while True:
                time.sleep(1)
        super().emit(verb, answer)


if __name__ == "__main__":
    run(Wrong)
