"""Row 36: restore says that all is well, and loaded nothing."""

from __future__ import annotations

from base import Good, Object, run


class Wrong(Good):
    def load(self, request: Object) -> Object:
        return {**super().load(request), "texts": {}, "edges": []}

    def fulltext(self, _query: str, _held: Object) -> list[str]:
        return []


if __name__ == "__main__":
    run(Wrong)
