"""Row 13: a queue that is no whole number from 0 to 2^53 - 1."""

from __future__ import annotations

import json

from base import BadRestore, Object, run


class Wrong(BadRestore):
    def text(self, answer: Object) -> str:
        return json.dumps(answer).replace('count": 0', f'count": {self.words[0]}')


if __name__ == "__main__":
    run(Wrong)
