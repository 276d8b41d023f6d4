"""Row 8: an extra field."""

from __future__ import annotations

import json

from base import BadRestore, Object, run


class Wrong(BadRestore):
    def text(self, answer: Object) -> str:
        return json.dumps({**answer, "note": "all well"})


if __name__ == "__main__":
    run(Wrong)
