"""Row 17: a full object, and no exit."""

from __future__ import annotations

import time

from base import Good, Object, run


class Wrong(Good):
    def emit(self, verb: str, answer: Object) -> None:
        super().emit(verb, answer)
        if verb == "restore":
            time.sleep(1000)


if __name__ == "__main__":
    run(Wrong)
