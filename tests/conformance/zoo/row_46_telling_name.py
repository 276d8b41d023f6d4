"""Row 46: a project's name that tells the arm."""

from __future__ import annotations

from pathlib import Path

from base import Good, Object, run


class Wrong(Good):
    def path(self, project: str) -> Path:
        return super().path(project.removeprefix("control-"))

    def name(self, request: Object) -> str:
        return "control-" + super().name(request)


if __name__ == "__main__":
    run(Wrong)
