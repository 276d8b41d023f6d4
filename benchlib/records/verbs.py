"""The verbs of the command line as functions: the same in a notebook.

Each takes paths and plain values, does one thing, and returns a result that can say
itself in words.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchlib import analysis
from benchlib.contracts.certification import Certification, Finding
from benchlib.contracts.pair import Preparation
from benchlib.contracts.plan import PlanLock
from benchlib.errors import InputError, InWords, OutsideError
from benchlib.prepare import (
    CORPUS_WENT_UNCHECKED,
    certification_in_words,
    findings_in_words,
    is_at_hand,
    preparation_in_words,
)
from benchlib.records.cohort_files import read_cohort
from benchlib.records.freeze import freeze, open_plan
from benchlib.run import (
    REASONS,
    RunSummary,
    default_jobs,
    examine_without_corpus,
    examine_workspace,
    open_sandbox,
    run_cohort,
    run_label,
)
from benchlib.run.journal import last_event

Progress = Callable[[str], None]

DEMO = Path("cohorts/demo/v1")


def find_repository(start: Path | None = None) -> Path:
    """Return the folder that holds ``cohorts`` and ``notebooks``.

    It is looked for from ``start`` (the current folder) upwards, then where the
    package itself was cloned.

    Raises:
        InputError: There is none.
    """
    here = (start or Path.cwd()).resolve()
    clone = Path(__file__).resolve().parents[2]
    for folder in (here, *here.parents, clone):
        if (folder / "cohorts").is_dir() and (folder / "notebooks").is_dir():
            return folder
    raise InputError(
        str(here),
        found=InWords("no folder with cohorts/ and notebooks/, here or above"),
        allowed="a clone of the project, or a folder laid out like it",
        next_step="go into the clone first",
    )


@dataclass(frozen=True)
class PreparedCohort:
    """What preparing a cohort found, by challenge and fixture."""

    preparations: dict[str, Preparation]
    unchecked: dict[str, Certification]  # where the corpus was absent and the operator said so

    @property
    def certifications(self) -> tuple[Certification, ...]:
        """The verdict on each workspace."""
        judged = (one.certification for one in self.preparations.values())
        return (*judged, *self.unchecked.values())

    @property
    def passed(self) -> bool:
        """Whether nothing was found; with a corpus unchecked it can't be sealed all the same."""
        return all(one.passed for one in self.certifications)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Every finding, of all workspaces, each once."""
        return tuple(dict.fromkeys(f for one in self.certifications for f in one.findings))

    def in_words(self) -> str:
        """Return the whole report as text."""
        parts = {name: preparation_in_words(one) for name, one in self.preparations.items()}
        parts |= {name: certification_in_words(one) for name, one in self.unchecked.items()}
        return "\n\n".join(f"{name}\n{text}" for name, text in parts.items())

    def findings_in_words(self) -> str:
        """Return the findings alone as text, after the names of what went unchecked."""
        lines = [
            f"UNCHECKED  the corpus of {name} was absent: {one.corpus_unchecked_by}"
            for name, one in self.unchecked.items()
        ]
        return "\n".join([*lines, findings_in_words(self.findings)])

    def as_json(self) -> str:
        """Return the preparations, or what was judged without a corpus, as JSON by name."""
        parts = {
            name: json.loads(one.canonical())
            for name, one in {**self.preparations, **self.unchecked}.items()
        }
        return json.dumps(parts, indent=1)


def prepare_cohort(root: Path, *, sandbox: str, progress: Progress) -> PreparedCohort:
    """Build, redact and certify each workspace of a cohort; nothing is run or written.

    Args:
        root: The cohort's folder.
        sandbox: ``docker`` or ``local``: what stands around a workspace depends on it.
        progress: Told of each step.

    Returns:
        The preparations, passed or not.

    Raises:
        InputError: A file is wrong, or the corpus holds what the plan does not declare.
    """
    files = read_cohort(root)
    box = open_sandbox(sandbox, label=run_label(root / "prepare"))
    report = PreparedCohort({}, {})
    with tempfile.TemporaryDirectory(prefix="w-") as work:
        for challenge_id, fixture_id in files.workspaces:
            name = f"{challenge_id} on {fixture_id}"
            progress(f"preparing {name}")
            challenge, fixture = files.challenges[challenge_id], files.fixtures[fixture_id]
            opted_out = os.environ.get(CORPUS_WENT_UNCHECKED) is not None
            if opted_out and not is_at_hand(fixture.corpus, base=root):
                report.unchecked[name] = examine_without_corpus(
                    files.cohort, challenge, fixture, root=root, sandbox=box, environment=os.environ
                )
            else:
                _, report.preparations[name] = examine_workspace(
                    files.cohort, challenge, fixture, root=root, work=Path(work), sandbox=box
                )
    return report


def freeze_cohort(root: Path, *, sandbox: str, overwrite: bool, progress: Progress) -> PlanLock:
    """Freeze a cohort of this repository; see ``freeze``."""
    return freeze(
        root,
        repository=find_repository(root),
        sandbox=open_sandbox(sandbox, label=run_label(root / "freeze")),
        overwrite=overwrite,
        progress=progress,
    )


def run_frozen(
    root: Path,
    *,
    sandbox: str,
    resume: bool,
    receipts: Path | None,
    jobs: int | None,
    progress: Progress,
) -> RunSummary:
    """Run the missing pairs of a frozen cohort.

    Args:
        root: The cohort's folder.
        sandbox: ``docker`` or ``local``.
        resume: Whether a run that was begun is continued.
        receipts: The folder of the receipts; ``receipts/COHORT/vN`` of the repository by default.
        jobs: Pairs at once; one per core by default.
        progress: Told of each step.

    Returns:
        What was done.
    """
    plan = open_plan(root)
    folder = receipts or default_receipts(root)
    return run_cohort(
        plan,
        sandbox=open_sandbox(sandbox, label=run_label(folder / "journal.jsonl")),
        receipts=folder,
        resume=resume,
        jobs=jobs or default_jobs(),
        progress=progress,
    )


def default_receipts(root: Path) -> Path:
    """Return where a cohort's receipts lie when nobody says otherwise."""
    cohort = read_cohort(root).cohort
    return find_repository(root) / "receipts" / cohort.id / f"v{cohort.version}"


def analyze_frozen(
    root: Path,
    *,
    receipts: Path | None,
    output: Path | None,
    overwrite: bool,
    progress: Progress,
) -> analysis.Analysis:
    """Execute a cohort's frozen notebook on its receipts.

    Args:
        root: The cohort's folder.
        receipts: The folder of the receipts; ``receipts/COHORT/vN`` by default.
        output: Where tables and report go; the cohort's folder by default.
        overwrite: Whether tables of other content may be replaced.
        progress: Told of each cell.

    Returns:
        What was written.

    Raises:
        InputError: The receipts' folder was named and is not there.
    """
    if receipts is not None and not receipts.is_dir():
        raise InputError(
            str(receipts),
            found=InWords("no folder"),
            allowed="the folder of the receipts of a run",
            next_step="name the folder that was given to `benchlib run` as --output",
        )
    return analysis.analyze(  # loads pandas and altair, which no run of pairs needs
        open_plan(root),
        receipts=receipts or default_receipts(root),
        repository=find_repository(root),
        out=output or root,
        overwrite=overwrite,
        progress=progress,
        reasons=REASONS,
    )


@dataclass(frozen=True)
class DemoResult:
    """What the demo did and where it lies."""

    run: RunSummary
    analysis: analysis.Analysis
    published: str  # how its tables compare with the published ones

    def in_words(self) -> str:
        """Return what a newcomer wants to know next."""
        return f"{self.run.in_words()}\n{self.analysis.in_words()}\n{self.published}"


def run_demo(*, output: Path | None, jobs: int | None, progress: Progress) -> DemoResult:
    """Run the demo cohort the whole way: pairs, receipts, tables, report.

    A run that was begun and not finished is continued; else a new one is made, for
    nothing is overwritten.

    Args:
        output: Where everything goes; ``demo-output/run-N`` of the repository by default.
        jobs: Pairs at once; one per core by default.
        progress: Told of each step.

    Returns:
        What was done.
    """
    repository = find_repository()
    root = repository / DEMO
    out = output or _next_run(repository / "demo-output")
    summary = run_frozen(
        root, sandbox="local", resume=True, receipts=out / "receipts", jobs=jobs, progress=progress
    )
    result = analyze_frozen(
        root, receipts=out / "receipts", output=out, overwrite=True, progress=progress
    )
    return DemoResult(summary, result, _compared(out / "tables", root / "tables"))


def _next_run(folder: Path) -> Path:
    """Return the last run if it was not finished, else the next new folder."""
    number = 1
    while (run := folder / f"run-{number}").exists():
        if last_event(run / "receipts" / "journal.jsonl") != "run-finished":
            return run
        number += 1
    return run


def _compared(made: Path, published: Path) -> str:
    digests = [
        {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("*.*")}
        for folder in (made, published)
    ]
    if digests[0] == digests[1]:
        return f"the tables are byte for byte those that are published in {published}"
    names = sorted(
        name for name in {*digests[0], *digests[1]} if digests[0].get(name) != digests[1].get(name)
    )
    return f"these differ from the published tables in {published}: {', '.join(names)}"


def open_lab(arguments: tuple[str, ...]) -> int:
    """Open JupyterLab on the notebooks of the repository; returns its exit status.

    Raises:
        OutsideError: JupyterLab is not installed.
    """
    if importlib.util.find_spec("jupyterlab") is None:
        raise OutsideError(
            "benchlib lab",
            found=InWords("no jupyterlab"),
            allowed="the extra `lab`",
            next_step="pip install -e '.[lab]'",
        )
    notebooks = find_repository() / "notebooks"
    return subprocess.run(
        [sys.executable, "-m", "jupyterlab", f"--notebook-dir={notebooks}", *arguments], check=False
    ).returncode
