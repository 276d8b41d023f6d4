"""Row 19: a full object and an exit; a child keeps stdout open."""

from __future__ import annotations

import subprocess

from base import Good, Object, run


class Wrong(Good):
    def emit(self, verb: str, answer: Object) -> None:
        super().emit(verb, answer)
        if verb == "restore":
            subprocess.Popen(["sleep", "1000"])


if __name__ == "__main__":
    run(Wrong)
