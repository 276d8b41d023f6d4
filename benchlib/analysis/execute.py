"""Executing a frozen plan: a clean kernel, checks before and after, all or nothing.

1. drift and parameters are checked; 2. a scratch folder gets the inputs; 3. the
kernel runs behind walls; 4. the executed notebook is judged by our rules, since
papermill calls a run a success after ``sys.exit(0)``; 5. the tables are checked
against their declarations; 6. everything is written at once.

A failed run publishes nothing; its traceback is kept in ``execution-failed.json``.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import rfc8785
from pydantic import Field

from benchlib.analysis import _judge, _launch, locks
from benchlib.analysis._client import Limits, Outcome, run_notebook
from benchlib.analysis._kernel import RUN_NAME, KernelRun
from benchlib.analysis.declarations import Library, Output, ParameterValue, Status
from benchlib.analysis.drift import check_drift
from benchlib.analysis.parameters import check_parameters
from benchlib.analysis.plans import FrozenPlan, cell_title, read_pinned
from benchlib.analysis.table_files import (
    Table,
    check_table,
    sha256,
    table_csv,
    table_json,
)
from benchlib.contracts.base import Contract, Count, Identifier, Sha256
from benchlib.contracts.paths import PortablePath
from benchlib.contracts.reading import read
from benchlib.errors import BenchlibError, InputError, InWords, OutsideError

Progress = Callable[[str], None]
"""Gets one line of text after each cell; a verb prints it to stderr."""

Network = Literal["isolated", "guarded"]
Files = Literal["scratch-only", "guarded"]


class TableEntry(Contract):
    """One table that a run made, by digest."""

    id: Identifier
    status: Status
    json_path: PortablePath
    json_sha256: Sha256  # this is the table's digest
    csv_path: PortablePath
    csv_sha256: Sha256
    rows: Count


class TablesIndex(Contract):
    """``tables.json``: which tables were made, of which plan and inputs."""

    contract: Literal["tables-index"] = "tables-index"
    schema_version: Annotated[int, Field(ge=1, le=1)] = 1
    plan_sha256: Sha256
    inputs_sha256: Sha256
    parameters: dict[str, ParameterValue]
    tables: tuple[TableEntry, ...]  # by id


class ExecutionRecord(Contract):
    """``execution.json``: how the run went; differs between runs and is never compared."""

    contract: Literal["execution"] = "execution"
    schema_version: Annotated[int, Field(ge=1, le=1)] = 1
    status: Literal["completed", "failed"]
    plan: str
    plan_sha256: Sha256
    inputs_sha256: Sha256
    parameters: dict[str, ParameterValue]
    network: Network
    files: Files
    isolation: _launch.Isolation
    python: str
    other_versions: tuple[str, ...]  # such as `pandas 3.1.1 pinned, 3.2.0 used`
    libraries: tuple[Library, ...]  # as used
    milliseconds: Count
    cell_milliseconds: tuple[Count, ...]
    error: str | None
    traceback: tuple[str, ...]


@dataclass(frozen=True)
class Execution:
    """What a run of a plan gave.

    Args:
        plan: The plan that ran.
        record: How it went.
        index: The tables by digest.
        tables: The tables themselves, by id.
        out: The folder they were written to.
    """

    plan: FrozenPlan
    record: ExecutionRecord
    index: TablesIndex
    tables: Mapping[str, Table]
    out: Path


def execute_plan(
    plan: FrozenPlan,
    *,
    expected_plan_sha256: str,
    inputs: Mapping[str, Path],
    out: Path,
    parameters: Mapping[str, object] | None = None,
    progress: Progress = lambda _: None,
    pinned_in: Path | None = None,
    overwrite: bool = True,
    isolation: _launch.Isolation | None = None,
    limits: Limits = Limits(),  # noqa: B008 - frozen
    hash_seed: int = 0,
) -> Execution:
    """Run a plan on inputs and write its tables.

    Args:
        plan: As read.
        expected_plan_sha256: The digest that was pinned.
        inputs: Files and folders by the name that they get below ``in/``.
        out: Folder for ``tables/``, ``exploratory/``, ``tables.json``, ``execution.json`` and
            ``executed.ipynb``; what stands under these names is replaced, all at once.
        parameters: Values that are not the plan's defaults.
        progress: Gets a line per cell.
        pinned_in: The cohort's folder that pins the plan, so that drift can show the cell.
        overwrite: Whether promised tables of other content may be replaced.
        isolation: The walls; the best that work by default.
        limits: Time and memory.
        hash_seed: Another one only to test that it does not show.

    Returns:
        The execution, as written.

    Raises:
        DriftError: The plan is not the pinned one.
        InputError: A parameter or input is wrong, a table is not as declared, or other
            tables stand in ``out`` and may not be replaced.
        OutsideError: A cell raised, warned, hung, reached out or ended its kernel.
    """
    check_drift(
        plan,
        expected_plan_sha256=expected_plan_sha256,
        pinned=read_pinned(pinned_in) if pinned_in else None,
        frozen_in=f"{pinned_in.name}/plan.lock.json" if pinned_in else "the caller's pin",
    )
    values = check_parameters(plan.place, plan.parameters, parameters or {})
    digest = inputs_sha256(inputs)
    walls = isolation or _launch.best_isolation()
    with tempfile.TemporaryDirectory(prefix="bl-", dir=_short_folder()) as name:
        scratch = Path(name)
        run = _Run(plan, values, inputs, scratch, walls, limits, progress, hash_seed)
        started = time.monotonic()
        outcome = run.execute()
        milliseconds = int((time.monotonic() - started) * 1000)
        record = _record(run, digest, milliseconds)
        try:
            _judge.judge(plan, outcome, scratch, limits)
            tables = _tables(plan, scratch)
        except BenchlibError as error:
            _write_failure(out, record, error, outcome)
            raise
        index = tables_index(plan, digest, values, tables)
        made = Execution(plan, record, index, tables, out)
        _publish(made, outcome, overwrite=overwrite)
    return made


@dataclass
class _Run:
    """One execution in its scratch folder."""

    plan: FrozenPlan
    values: Mapping[str, ParameterValue]
    inputs: Mapping[str, Path]
    scratch: Path
    isolation: _launch.Isolation
    limits: Limits
    progress: Progress
    hash_seed: int

    def execute(self) -> Outcome:
        self._lay_out()
        environment = _launch.kernel_environment(self.scratch, self.hash_seed)
        clock = _CellClock(self.plan, self.progress)
        self.clock = clock
        return run_notebook(
            self.scratch,
            argv=_launch.kernel_argv(self.isolation, self.scratch, self.inputs, environment),
            environment=environment,
            parameters=self.values,
            limits=self.limits,
            started=clock.started,
            finished=clock.finished,
        )

    def _lay_out(self) -> None:
        """Make the scratch folder: inputs, plan, what the kernel is told."""
        for folder in ("in", "out", "home/tmp", "k"):
            (self.scratch / folder).mkdir(parents=True)
        for name, path in self.inputs.items():
            self._lay_in(self.scratch / "in" / name, path)
        run = KernelRun(
            plan_sha256=self.plan.plan_sha256,
            outputs=self.plan.outputs,
            memory_bytes=self.limits.memory_bytes,
        )
        (self.scratch / RUN_NAME).write_bytes(run.canonical())
        notebook = json.dumps(scratch_notebook(self.plan))
        (self.scratch / "plan.ipynb").write_text(notebook)

    def _lay_in(self, place: Path, path: Path) -> None:
        if self.isolation != "bubblewrap":
            place.symlink_to(path.resolve())
        elif path.is_dir():  # a mount point for the read-only bind
            place.mkdir()
        else:
            place.touch()


class _CellClock:
    """Times the cells and tells the caller; counts in cells of the plan."""

    def __init__(self, plan: FrozenPlan, progress: Progress) -> None:
        self.plan = plan
        self.progress = progress
        self.began = 0.0
        self.milliseconds: list[int] = []

    def started(self, _: int) -> None:
        self.began = time.monotonic()

    def finished(self, index: int) -> None:
        seconds = time.monotonic() - self.began
        position = _judge.plan_index(self.plan, index)
        if position is not None:
            self.milliseconds.append(int(seconds * 1000))
            title = cell_title(self.plan.content, position)
            self.progress(f"{title}: {seconds:.1f} s")


def scratch_notebook(plan: FrozenPlan) -> dict[str, object]:
    """Return the notebook that runs: made of what the digest covers and nothing else.

    Args:
        plan: The plan.

    Returns:
        A notebook with ids ``cell-01`` and up, and the tag that papermill looks for.
    """
    cells: list[dict[str, object]] = []
    for number, cell in enumerate(plan.cells, start=1):
        tags = ["parameters"] if cell.role == "parameters" else []
        made: dict[str, object] = {
            "cell_type": cell.kind,
            "id": f"cell-{number:02d}",
            "metadata": {"tags": tags},
            "source": cell.source,
        }
        cells.append(
            made | ({"execution_count": None, "outputs": []} if cell.kind == "code" else {})
        )
    metadata = {
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
        "language_info": {"name": "python"},
    }
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def inputs_sha256(inputs: Mapping[str, Path]) -> str:
    """Return the digest of all input files: path and SHA-256 of each, in path order.

    Args:
        inputs: Files and folders by name.

    Returns:
        A digest that knows neither times nor sizes nor where the inputs lie.

    Raises:
        InputError: An input is absent or a link.
    """
    files: dict[str, str] = {}
    for name, root in inputs.items():
        for path in [root] if root.is_file() else _files(name, root):
            inner = path.relative_to(root).as_posix() if path != root else ""
            files[f"{name}/{inner}".rstrip("/")] = _file_sha256(path)
    return sha256(rfc8785.dumps([[path, files[path]] for path in sorted(files)]))


def _file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _files(name: str, root: Path) -> list[Path]:
    if not root.is_dir():
        raise InputError(
            str(root),
            found=InWords("no such file or folder"),
            allowed=f"the input {name!r} of the plan",
            next_step="run the cohort first, or name another folder",
        )
    found = sorted(root.rglob("*"))
    links = [path for path in found if path.is_symlink()]
    if links:
        raise InputError(
            str(links[0]),
            found=InWords("a link"),
            allowed="regular files; an analysis reads nothing outside its inputs",
            next_step="replace the link by the file",
        )
    return [path for path in found if path.is_file()]


def _short_folder() -> str | None:
    """Return a folder for scratch places; paths of Unix sockets are limited to 107 bytes."""
    short = Path("/tmp")  # noqa: S108 - mkdtemp below makes a private folder
    return str(short) if os.access(short, os.W_OK) else None


def _record(run: _Run, digest: str, milliseconds: int) -> ExecutionRecord:
    used = locks.used_versions(run.plan.content.libraries)
    is_walled = run.isolation != "guard"
    return ExecutionRecord(
        status="completed",
        plan=run.plan.place,
        plan_sha256=run.plan.plan_sha256,
        inputs_sha256=digest,
        parameters=dict(run.values),
        network="isolated" if is_walled else "guarded",
        files="scratch-only" if run.isolation == "bubblewrap" else "guarded",
        isolation=run.isolation,
        python=locks.python_version(),
        other_versions=locks.differences(run.plan.content, used),
        libraries=used,
        milliseconds=milliseconds,
        cell_milliseconds=tuple(run.clock.milliseconds),
        error=None,
        traceback=(),
    )


def _tables(plan: FrozenPlan, scratch: Path) -> dict[str, Table]:
    """Read what the plan emitted, and check it as if a stranger had written it."""
    return {output.id: _table(plan, output, scratch / "out") for output in plan.outputs}


def _table(plan: FrozenPlan, output: Output, folder: Path) -> Table:
    place = f"{plan.place}: table {output.id}"
    table = read(Table, (folder / f"{output.id}.json").read_bytes(), place)
    return check_table(place, table, output, plan.plan_sha256)


def _folder_of(table: Table) -> str:
    return "tables" if table.status == "promised" else "exploratory"


def tables_index(
    plan: FrozenPlan,
    digest: str,
    values: Mapping[str, ParameterValue],
    tables: Mapping[str, Table],
) -> TablesIndex:
    """Return the index of a run's tables, by id.

    Args:
        plan: The plan that made them.
        digest: Of the inputs.
        values: The parameters.
        tables: The tables by id.
    """
    entries = tuple(
        TableEntry(
            id=name,
            status=table.status,
            json_path=f"{_folder_of(table)}/{name}.json",
            json_sha256=sha256(table_json(table)),
            csv_path=f"{_folder_of(table)}/{name}.csv",
            csv_sha256=sha256(table_csv(table)),
            rows=len(table.rows),
        )
        for name, table in sorted(tables.items())
    )
    return TablesIndex(
        plan_sha256=plan.plan_sha256, inputs_sha256=digest, parameters=dict(values), tables=entries
    )


def _publish(made: Execution, outcome: Outcome, *, overwrite: bool) -> None:
    """Write everything beside its place, then swap it in."""
    files = {
        "tables.json": made.index.canonical(),
        "execution.json": pretty(made.record),
        "executed.ipynb": cleaned_notebook(made.plan, outcome),
    }
    for table in made.tables.values():
        files[f"{_folder_of(table)}/{table.id}.json"] = table_json(table)
        files[f"{_folder_of(table)}/{table.id}.csv"] = table_csv(table)
    if not overwrite:
        _refuse_other_tables(made.out, files)
    swap_in(made.out, files, gone=("execution-failed.json", "tables", "exploratory"))


def _refuse_other_tables(out: Path, files: Mapping[str, bytes]) -> None:
    """Refuse to replace published tables by others; the same bytes may be written again."""
    for path in sorted(out.glob("tables/*")):
        name = f"tables/{path.name}"
        if files.get(name) != path.read_bytes():
            raise InputError(
                str(path),
                found=InWords("a table of other content, or one that this plan does not make"),
                allowed="no table yet, or the same bytes",
                next_step="choose another --output, or say --force-output",
            )


def swap_in(out: Path, files: Mapping[str, bytes], gone: tuple[str, ...] = ()) -> None:
    """Replace top-level names of a folder by new content, all of them or none.

    Args:
        out: The folder; made if need be.
        files: Content by path below it.
        gone: Names that are taken away even when nothing new has that name.

    Raises:
        OutsideError: The disk is full or the folder can't be written; the old state is left.
    """
    moved: list[tuple[Path, Path]] = []
    stage = None
    try:
        out.mkdir(parents=True, exist_ok=True)
        stage = Path(tempfile.mkdtemp(dir=out, prefix=".writing-"))
        for path, data in files.items():
            place = stage / "new" / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
        (stage / "old").mkdir()
        for name in sorted({path.split("/")[0] for path in files} | set(gone)):
            for source, target in (
                (out / name, stage / "old" / name),
                (stage / "new" / name, out / name),
            ):
                if source.exists():
                    source.rename(target)
                    moved.append((source, target))
    except OSError as error:
        for source, target in reversed(moved):
            target.rename(source)
        raise OutsideError(
            str(out),
            found=InWords(error.strerror or str(error)),
            allowed="a folder with room that can be written",
            next_step="free space or choose another --output",
        ) from error
    finally:
        if stage is not None:
            shutil.rmtree(stage, ignore_errors=True)


def _write_failure(
    out: Path, record: ExecutionRecord, error: BenchlibError, outcome: Outcome
) -> None:
    failed = record.model_copy(
        update={"status": "failed", "error": str(error), "traceback": outcome.traceback}
    )
    swap_in(out, {"execution-failed.json": pretty(failed)})


def pretty(contract: Contract) -> bytes:
    """Return a contract as JSON for people: indented, keys sorted, ended by LF."""
    text = json.dumps(contract.model_dump(mode="json"), indent=1, sort_keys=True)
    return text.encode() + b"\n"


def cleaned_notebook(plan: FrozenPlan, outcome: Outcome) -> bytes:
    """Return the executed notebook without times, paths, versions and random ids.

    It is a convenience for readers, never an input.
    """
    cells = []
    for number, cell in enumerate(outcome.notebook.cells if outcome.notebook else [], start=1):
        kept = {
            "cell_type": cell.cell_type,
            "id": f"cell-{number:02d}",
            "metadata": {"tags": list(cell.metadata.get("tags", []))},
            "source": cell.source,
        }
        if cell.cell_type == "code":
            outputs = [dict(output) for output in cell.outputs]
            kept |= {"execution_count": cell.execution_count, "outputs": outputs}
        cells.append(kept)
    language = {"name": plan.content.language}
    document = {
        "cells": cells,
        "metadata": {"language_info": language},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False).encode() + b"\n"
