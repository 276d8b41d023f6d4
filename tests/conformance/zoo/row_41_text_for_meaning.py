"""Row 41: a semantic question is answered by text search."""

from __future__ import annotations

import re

from base import Good, Object, run


class Wrong(Good):
    def semantic(self, query: str, held: Object) -> list[str]:
        words = set(re.findall("[a-z]+", query)) - {"of"}
        return [
            one
            for one, text in held["texts"].items()
            if words & set(re.findall("[a-z]+", text.lower()))
        ]


if __name__ == "__main__":
    run(Wrong)
