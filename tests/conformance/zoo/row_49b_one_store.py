"""Row 49: projects in one store see each other."""

from __future__ import annotations

from pathlib import Path

from base import Good, Object, run


class Wrong(Good):
    def snapshot(self, request: Object) -> Object:
        answer = super().snapshot(request)
        store = Path(self.words[0])
        largest = max(store.iterdir(), key=lambda path: path.stat().st_size)
        (store / "r-all-projects.json").write_text(largest.read_text())
        both = super().snapshot({"project": "r-all-projects"})
        (store / "r-all-projects.json").unlink()
        return {**answer, "probes": both["probes"]}

    def path(self, project: str) -> Path:
        return Path(self.words[0]) / f"{project}.json"


if __name__ == "__main__":
    run(Wrong)
