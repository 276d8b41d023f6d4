"""Row 50: a second restore into a live project is merged."""

from __future__ import annotations

from base import Good, Object, run


class Wrong(Good):
    def restore(self, request: Object) -> Object:
        self.path(self.name(request)).unlink(missing_ok=True)
        return super().restore(request)


if __name__ == "__main__":
    run(Wrong)
