"""Row 20: a daemon, forked twice, all pipes closed, survives."""

from __future__ import annotations

import os

from base import Good, Object, run


class Wrong(Good):
    def emit(self, verb: str, answer: Object) -> None:
        super().emit(verb, answer)
        if verb == "restore" and os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                null = os.open(os.devnull, os.O_RDWR)
                for descriptor in (0, 1, 2):
                    os.dup2(null, descriptor)
                os.execvp("sleep", ["sleep", "1000"])
            os._exit(0)


if __name__ == "__main__":
    run(Wrong)
