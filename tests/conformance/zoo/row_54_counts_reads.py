"""Row 54: changes its state when it is read."""

from __future__ import annotations

import json

from base import Good, Object, run


class Wrong(Good):
    def snapshot(self, request: Object) -> Object:
        answer = super().snapshot(request)
        path = self.path(str(request["project"]))
        held = json.loads(path.read_text())
        path.write_text(json.dumps({**held, "reads": held.get("reads", 0) + 1}))
        return answer


if __name__ == "__main__":
    run(Wrong)
