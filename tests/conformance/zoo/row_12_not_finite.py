"""Row 12: a number of seconds that is not finite."""

from __future__ import annotations

import json

from base import BadRestore, Object, run


class Wrong(BadRestore):
    def text(self, answer: Object) -> str:
        return json.dumps(answer).replace("0.01", self.words[0])


if __name__ == "__main__":
    run(Wrong)
