"""Row 35: writes to its artifact."""

from __future__ import annotations

from pathlib import Path

from base import Good, Object, run


class Wrong(Good):
    def load(self, request: Object) -> Object:
        held = super().load(request)
        with Path(request["artifacts"]["graph"]["path"]).open("a") as file:
            file.write(" ")
        return held


if __name__ == "__main__":
    run(Wrong)
