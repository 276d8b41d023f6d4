"""Row 47: destroy answers ok and removes nothing."""

from __future__ import annotations

from base import Good, Object, run


class Wrong(Good):
    def destroy(self, _request: Object) -> Object:
        return {"ok": True}


if __name__ == "__main__":
    run(Wrong)
