"""The start of the command line, and the driver's memory while it runs pairs."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_PAIR = """
import resource, sys
from pathlib import Path
from benchlib.records import open_plan
from benchlib.run import open_sandbox, run_cohort, run_label
receipts = Path(sys.argv[1])
run_cohort(
    open_plan(Path("cohorts/demo/v1")),
    sandbox=open_sandbox(sys.argv[2], label=run_label(receipts / "journal.jsonl")),
    receipts=receipts, resume=False, jobs=1, progress=lambda _: None,
)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def _seconds(argv: list[str]) -> float:
    times = []
    for _ in range(7):
        started = time.perf_counter()
        subprocess.run(argv, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def _peak_mb(sandbox: str) -> int:
    folder = Path(tempfile.mkdtemp(prefix="bench-"))
    try:
        argv = [sys.executable, "-c", _PAIR, str(folder / "receipts"), sandbox]
        done = subprocess.run(argv, cwd=ROOT, check=True, capture_output=True, text=True)
        return int(done.stdout.split()[-1])
    finally:
        shutil.rmtree(folder)


def rows() -> list[tuple[str, object, str, object, object, str]]:
    """Return the measurements of this file."""
    ours = _seconds([sys.executable, "-m", "benchlib", "--help"])
    bare = _seconds([sys.executable, "-c", "import click"])
    table: list[tuple[str, object, str, object, object, str]] = [
        ("benchlib --help, s", ours, "python importing click", bare, ours / bare, "0.3 s")
    ]
    for sandbox in ("local", "docker"):
        peak = _peak_mb(sandbox)
        what = f"driver's peak memory over the demo's pairs, {sandbox}, MB"
        table.append((what, peak, "none", "-", "-", "100 MB"))
    return table
