"""Row 37: restore ends while items still wait."""

from __future__ import annotations

from pathlib import Path

from base import Good, Object, run


class Wrong(Good):
    def restore(self, request: Object) -> Object:
        answer = super().restore(request)
        Path("waiting").write_text("2")
        return {**answer, "queue_before_count": 2}

    def snapshot(self, request: Object) -> Object:
        waiting = int(Path("waiting").read_text())
        answer = {**super().snapshot(request), "queue_after_count": waiting}
        Path("waiting").write_text(str(max(0, waiting - 1)))
        return answer


if __name__ == "__main__":
    run(Wrong)
