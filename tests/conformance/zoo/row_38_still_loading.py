"""Row 38: says that its queue is empty while it still loads."""

from __future__ import annotations

from pathlib import Path

from base import Good, Object, digest, run


class Wrong(Good):
    def state(self, held: Object) -> Object:
        seen = int(Path("seen").read_text()) if Path("seen").exists() else 0
        Path("seen").write_text(str(seen + 1))
        return {**super().state(held), "digest": digest([held, seen])}


if __name__ == "__main__":
    run(Wrong)
