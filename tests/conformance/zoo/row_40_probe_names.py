"""Row 40: a probe left out, renamed, or one too many."""

from __future__ import annotations

from base import Good, Object, run


class Wrong(Good):
    def snapshot(self, request: Object) -> Object:
        answer = super().snapshot(request)
        probes = answer["probes"]
        if self.words[0] == "added":
            probes["another"] = probes["one-word"]
        else:
            probe = probes.pop("one-word")
        if self.words[0] == "renamed":
            probes["one_word"] = probe
        return answer


if __name__ == "__main__":
    run(Wrong)
