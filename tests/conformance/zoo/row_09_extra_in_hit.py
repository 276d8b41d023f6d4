"""Row 9: an extra field in a probe's hit."""

from __future__ import annotations

import json

from base import BadSnapshot, Object, run


class Wrong(BadSnapshot):
    def text(self, answer: Object) -> str:
        answer["probes"]["one-word"]["hits"][0]["note"] = 1
        return json.dumps(answer)


if __name__ == "__main__":
    run(Wrong)
