"""Row 11: a key twice, three levels down."""

from __future__ import annotations

import json

from base import BadSnapshot, Object, run


class Wrong(BadSnapshot):
    def text(self, answer: Object) -> str:
        return json.dumps(answer).replace('"score": null', '"score": null, "score": 1', 1)


if __name__ == "__main__":
    run(Wrong)
