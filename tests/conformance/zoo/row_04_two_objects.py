"""Row 4: two objects, one after the other."""

from __future__ import annotations

import json

from base import BadRestore, Object, run


class Wrong(BadRestore):
    def text(self, answer: Object) -> str:
        return json.dumps(answer) * 2


if __name__ == "__main__":
    run(Wrong)
