"""Row 43: the first page is taken for all."""

from __future__ import annotations

from base import Good, Object, run


class Wrong(Good):
    def load(self, request: Object) -> Object:
        held = super().load(request)
        return {**held, "texts": dict(list(held["texts"].items())[:20])}

    def graph(self, _query: str, _held: Object) -> list[str]:
        return []


if __name__ == "__main__":
    run(Wrong)
