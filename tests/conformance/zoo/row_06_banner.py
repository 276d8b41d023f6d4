"""Row 6: a log line on stdout before the object."""

from __future__ import annotations

import json

from base import BadRestore, Object, run


class Wrong(BadRestore):
    def text(self, answer: Object) -> str:
        return "loading 51 items\n" + json.dumps(answer)


if __name__ == "__main__":
    run(Wrong)
