"""Row 23: exactly as many bytes as it was told."""

from __future__ import annotations

import json

from base import BadRestore, Object, run


class Wrong(BadRestore):
    def text(self, answer: Object) -> str:
        return json.dumps(answer).ljust(int(self.words[0]))


if __name__ == "__main__":
    run(Wrong)
