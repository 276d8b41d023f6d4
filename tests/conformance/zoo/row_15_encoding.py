"""Row 15: bytes that are no UTF-8 text."""

from __future__ import annotations

import json
import sys

from base import Good, Object, run


class Wrong(Good):
    def emit(self, verb: str, answer: Object) -> None:
        text = json.dumps(answer)
        if verb == "restore":
            project = json.dumps(answer["project"])
            data = {
                "utf-16": text.encode("utf-16"),
                "utf-16-without-mark": text.encode("utf-16-le"),
                "mark": b"\xef\xbb\xbf" + text.encode(),
                "surrogate": text.replace(project, '"a\\ud800"').encode(),
                "byte": text.replace(project, '"a\xff"').encode("latin-1"),
            }[self.words[0]]
            sys.stdout.buffer.write(data)
        else:
            self.write(text)


if __name__ == "__main__":
    run(Wrong)
