from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from cohort_builder import CohortSpec, Ran, RunSpec, frozen, sandbox_named

from benchlib.contracts.boundaries import Sandbox
from benchlib.run import ReceiptFolder, run_cohort, run_label


@pytest.fixture
def run_spec(tmp_path: Path) -> Iterator[RunSpec]:
    """Run a small cohort in a sandbox and give its receipts."""
    opened: list[Sandbox] = []

    def run(spec: CohortSpec, sandbox: str = "namespace", *, scratch: Path | None = None) -> Ran:
        root, receipts = tmp_path / "cohort", tmp_path / "receipts"
        box = sandbox_named(sandbox, run_label(receipts / "journal.jsonl"), scratch)
        opened.append(box)
        plan = frozen(root, spec, box)
        lines: list[str] = []
        summary = run_cohort(
            plan, sandbox=box, receipts=receipts, resume=False, jobs=1, progress=lines.append
        )
        return Ran(ReceiptFolder(receipts), summary, lines)

    yield run
    for box in opened:
        assert box.remove_leftovers() == (), "a finished run leaves nothing behind"
