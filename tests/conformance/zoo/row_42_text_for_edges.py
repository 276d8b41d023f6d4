"""Row 42: a graph question is answered by notes that mention the start."""

from __future__ import annotations

from base import Good, Object, run


class Wrong(Good):
    def graph(self, query: str, held: Object) -> list[str]:
        return self.fulltext(query, held)


if __name__ == "__main__":
    run(Wrong)
