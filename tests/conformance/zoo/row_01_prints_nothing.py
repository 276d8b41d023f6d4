"""Row 1: prints nothing, exit 0."""

from __future__ import annotations

from base import BadRestore, Object, run


class Wrong(BadRestore):
    def text(self, answer: Object) -> str:
        del answer
        return ""


if __name__ == "__main__":
    run(Wrong)
