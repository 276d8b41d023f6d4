"""Row 55: takes a gibibyte."""

from __future__ import annotations

from base import Good, Object, run


class Wrong(Good):
    def restore(self, request: Object) -> Object:
        taken = bytearray(1_073_741_824)
        return {**super().restore(request), "queue_before_count": taken[0]}


if __name__ == "__main__":
    run(Wrong)
