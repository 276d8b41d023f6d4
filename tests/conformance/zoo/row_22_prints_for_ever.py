"""Row 22: prints for ever."""

from __future__ import annotations

from base import Good, Object, run


class Wrong(Good):
    def emit(self, verb: str, answer: Object) -> None:
        while verb == "restore":
            self.write(" " * 1_000_000)
        super().emit(verb, answer)


if __name__ == "__main__":
    run(Wrong)
