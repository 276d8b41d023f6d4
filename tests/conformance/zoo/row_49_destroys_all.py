"""Row 49: destroy removes another project too; all lie in one store."""

from __future__ import annotations

from pathlib import Path

from base import Good, Object, run


class Wrong(Good):
    def path(self, project: str) -> Path:
        return Path(self.words[0]) / f"{project}.json"

    def destroy(self, _request: Object) -> Object:
        for path in Path(self.words[0]).iterdir():
            path.unlink()
        return {"ok": True}


if __name__ == "__main__":
    run(Wrong)
