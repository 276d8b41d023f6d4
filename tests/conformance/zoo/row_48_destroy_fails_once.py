"""Row 48: destroy fails once, then works."""

from __future__ import annotations

import sys
from pathlib import Path

from base import Good, Object, run


class Wrong(Good):
    def destroy(self, request: Object) -> Object:
        failed = Path("failed-once")
        if not failed.exists():
            failed.touch()
            sys.exit("busy, try again")
        return super().destroy(request)


if __name__ == "__main__":
    run(Wrong)
