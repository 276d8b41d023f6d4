"""Row 5: an object, a line end, the word done."""

from __future__ import annotations

import json

from base import BadRestore, Object, run


class Wrong(BadRestore):
    def text(self, answer: Object) -> str:
        return json.dumps(answer) + "\ndone\n"


if __name__ == "__main__":
    run(Wrong)
