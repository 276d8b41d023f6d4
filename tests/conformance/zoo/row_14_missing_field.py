"""Row 14: a field is missing."""

from __future__ import annotations

import json

from base import BadRestore, Object, run


class Wrong(BadRestore):
    def text(self, answer: Object) -> str:
        del answer["queue_before_count"]
        return json.dumps(answer)


if __name__ == "__main__":
    run(Wrong)
