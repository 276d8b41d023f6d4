"""Row 52: leaves a file in HOME."""

from __future__ import annotations

from pathlib import Path

from base import Good, Object, run


class Wrong(Good):
    def restore(self, request: Object) -> Object:
        cache = Path.home() / ".cache" / "telemetry"
        cache.mkdir(parents=True, exist_ok=True)
        (cache / "device-id").write_text("1")
        return super().restore(request)


if __name__ == "__main__":
    run(Wrong)
