"""Row 10: project twice with different values."""

from __future__ import annotations

import json

from base import BadRestore, Object, run


class Wrong(BadRestore):
    def text(self, answer: Object) -> str:
        return json.dumps(answer)[:-1] + ', "project": "other"}'


if __name__ == "__main__":
    run(Wrong)
