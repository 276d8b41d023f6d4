"""Row 44: the state depends on the clock."""

from __future__ import annotations

import time

from base import Good, Object, run


class Wrong(Good):
    def load(self, request: Object) -> Object:
        return {**super().load(request), "loaded_at": time.time_ns()}


if __name__ == "__main__":
    run(Wrong)
