"""Row 18: a full object, closes stdout, sleeps."""

from __future__ import annotations

import os
import time

from base import Good, Object, run


class Wrong(Good):
    def emit(self, verb: str, answer: Object) -> None:
        super().emit(verb, answer)
        if verb == "restore":
            os.close(1)
            os.close(2)
            time.sleep(1000)


if __name__ == "__main__":
    run(Wrong)
