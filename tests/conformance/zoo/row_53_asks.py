"""Row 53: asks a question on first run."""

from __future__ import annotations

from pathlib import Path

from base import Good, Object, run


class Wrong(Good):
    def restore(self, request: Object) -> Object:
        with Path("/dev/tty").open() as terminal:
            terminal.readline()
        return super().restore(request)


if __name__ == "__main__":
    run(Wrong)
