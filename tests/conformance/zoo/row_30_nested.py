"""Row 30: nested a hundred thousand deep."""

from __future__ import annotations

from base import BadSnapshot, Object, run


class Wrong(BadSnapshot):
    def text(self, answer: Object) -> str:
        del answer
        return "[" * 100_000 + "]" * 100_000


if __name__ == "__main__":
    run(Wrong)
