"""What ``benchlib analyze COHORT`` does: the pinned plan, its tables, charts and the report."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchlib.analysis.drift import check_drift, frozen_in
from benchlib.analysis.execute import Execution, Progress, execute_plan, swap_in
from benchlib.analysis.frames import Receipts, load_receipts
from benchlib.analysis.plans import FrozenPlan, read_pinned, read_plan
from benchlib.analysis.report import Report, cohort_charts, render
from benchlib.contracts.plan import OpenPlan
from benchlib.errors import DriftError, InWords


@dataclass(frozen=True)
class Analysis:
    """What an analysis left.

    Args:
        execution: The run of the plan, with its tables.
        report: The page.
    """

    execution: Execution
    report: Path

    def in_words(self) -> str:
        """Return what was made and where it lies."""
        entries = self.execution.index.tables
        promised = sum(entry.status == "promised" for entry in entries)
        record = self.execution.record
        seconds = record.milliseconds / 1000
        told = f"{seconds:.1f} s, network {record.network}"
        lines = [
            f"promised tables: {promised}, in {self.execution.out / 'tables'} ({told})",
            f"exploratory tables: {len(entries) - promised}, in exploratory beside it",
            *(f"another version than the pinned one: {line}" for line in record.other_versions),
            f"report: {self.report}",
        ]
        return "\n".join(lines)


def analyze(
    open_plan: OpenPlan,
    *,
    receipts: Path,
    repository: Path,
    out: Path,
    overwrite: bool = True,
    progress: Progress = lambda _: None,
    reasons: Mapping[str, str] | None = None,
) -> Analysis:
    """Run a cohort's frozen notebook on its receipts and write tables, charts and report.

    Args:
        open_plan: The cohort, checked against its lock.
        receipts: The folder of its receipts.
        repository: The folder that the notebook's path is relative to.
        out: Gets ``tables/``, ``exploratory/``, ``charts/``, ``report.html``, ``tables.json``,
            ``execution.json`` and ``executed.ipynb``; these names are replaced all at once.
        overwrite: Whether promised tables of other content may be replaced.
        progress: Gets a line per cell.
        reasons: Reason codes in words, for the report.

    Returns:
        The execution and the report's path.

    Raises:
        DriftError: The notebook is not the pinned one, or receipts name another lock.
        InputError: The notebook, a receipt or a table is wrong.
        RefusedError: Pairs of one line have two comparability keys.
        OutsideError: A cell of the notebook failed.
    """
    cohort = open_plan.cohort
    plan = _pinned_plan(open_plan, repository)
    loaded = load_receipts(cohort, receipts)  # what is wrong with receipts shows before a kernel
    _refuse_other_lock(open_plan, loaded)
    with tempfile.TemporaryDirectory(prefix="bl-") as name:
        folder = Path(name)
        (folder / "cohort.json").write_bytes(cohort.canonical())
        (folder / "none").mkdir()  # stands for receipts where nothing was run yet
        inputs = {
            "cohort.json": folder / "cohort.json",
            "receipts": receipts if receipts.is_dir() else folder / "none",
        }
        execution = execute_plan(
            plan,
            expected_plan_sha256=cohort.analysis.plan_sha256,
            inputs=inputs,
            out=out,
            parameters={"alpha_ppm": cohort.analysis.alpha_ppm},
            progress=progress,
            pinned_in=open_plan.root,
            overwrite=overwrite,
        )
    place = f"cohorts/{cohort.id}/v{cohort.version}"
    report = Report(cohort, place, execution, reasons or {}, loaded.set_aside)
    return Analysis(execution, _write(report, out))


def _pinned_plan(open_plan: OpenPlan, repository: Path) -> FrozenPlan:
    pinned = open_plan.cohort.analysis
    plan = read_plan(repository / pinned.notebook, place=pinned.notebook)
    check_drift(
        plan,
        expected_plan_sha256=pinned.plan_sha256,
        pinned=read_pinned(open_plan.root),
        frozen_in=frozen_in(open_plan.root, repository),
    )
    return plan


def _refuse_other_lock(open_plan: OpenPlan, loaded: Receipts) -> None:
    lock = open_plan.lock.canonical_sha256()
    if loaded.lock_sha256 not in {None, lock}:
        raise DriftError(
            f"receipts of {open_plan.cohort.id} version {open_plan.cohort.version}",
            "lock_sha256",
            found=InWords(loaded.lock_sha256),
            allowed=f"{lock}, the lock that is open",
            next_step="analyse them with the plan that they were run under",
        )


def _write(report: Report, out: Path) -> Path:
    charts = cohort_charts(report.execution.tables)
    files = {"report.html": render(report, charts).encode()}
    for chart in charts:
        files[f"charts/{chart.id}.vl.json"] = chart.spec
        files[f"charts/{chart.id}.svg"] = chart.svg.encode()
    swap_in(out, files)
    return out / "report.html"
