"""Row 16: half an object, then sleep for ever."""

from __future__ import annotations

import json
import time

from base import Good, Object, run


class Wrong(Good):
    def emit(self, verb: str, answer: Object) -> None:
        self.write(json.dumps(answer)[:20])
        if verb == "restore":
            time.sleep(1000)
        self.write(json.dumps(answer)[20:])


if __name__ == "__main__":
    run(Wrong)
