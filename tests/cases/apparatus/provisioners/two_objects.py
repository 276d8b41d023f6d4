import json, sys

verb, req = sys.argv[1], json.load(sys.stdin)
print("restoring, please wait", file=sys.stderr)
out = {
    "restore": {"project": "p", "queue_before_count": 0, "restore_seconds": 0.1},
    "snapshot": {
        "state": {"nodes": 3},
        "probes": {"full_text": 2, "semantic": 2, "graph": 1},
        "queue_after_count": 0,
        "snapshot_seconds": 0.1,
    },
    "destroy": {"ok": True},
}[verb]
print(json.dumps(out))
print(json.dumps(out))
