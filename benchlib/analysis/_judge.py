"""Judging an executed notebook by the kit's rules, which are stricter than papermill's.

papermill calls a run a success although a cell ended the kernel with status 0,
was skipped, or wrote a warning. Here every code cell must have run, in order, with
nothing on stderr, showing only what was declared, reaching for nothing outside.
Positions in messages are those of the plan, never of the executed file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchlib.analysis._client import Limits, Outcome
from benchlib.analysis._kernel import GUARD_NAME
from benchlib.analysis.emission import REFUSAL_MIME, TABLE_MIME
from benchlib.analysis.plans import FrozenPlan
from benchlib.errors import (
    BenchlibError,
    DriftError,
    InputError,
    InWords,
    OutsideError,
    RefusedError,
)

_SHOWN = {"display_data", "execute_result", "update_display_data"}
_KINDS: Mapping[str, type[BenchlibError]] = {  # a gate that says no inside a cell is still a gate
    "RefusedError": RefusedError,
    "InputError": InputError,
    "VersionError": InputError,
    "DriftError": DriftError,
}
NotebookCell = Any  # a cell as nbformat gives it: a foreign document without types


def plan_index(plan: FrozenPlan, index: int) -> int | None:
    """Return a cell's position in the plan; None for the cell that papermill put in."""
    injected = _injected_index(plan)
    if index == injected:
        return None
    return index - 1 if index > injected else index


def _injected_index(plan: FrozenPlan) -> int:
    """Return where papermill puts its cell: right behind the parameters cell."""
    if not plan.parameters:
        return len(plan.cells) + 1
    return [cell.role for cell in plan.cells].index("parameters") + 1


def judge(plan: FrozenPlan, outcome: Outcome, scratch: Path, limits: Limits) -> None:
    """Refuse a run that papermill may have called a success.

    Args:
        plan: The plan.
        outcome: How papermill's run ended.
        scratch: The run's folder, with what the guard wrote down and the tables.
        limits: The limits that held, for messages.

    Raises:
        InputError: A table is not as declared, or something undeclared was shown or written.
        OutsideError: A cell raised, warned, hung, reached out, or the kernel ended.
    """
    attempts = list(_attempts(plan, scratch))
    if attempts:
        raise _together(attempts)
    refusals = list(_refusals(plan, outcome))
    if refusals:
        raise _together(refusals)
    if outcome.kind != "finished":
        raise _failure(plan, outcome, scratch, limits)
    broken = [*_unrun(plan, outcome), *_stderr(plan, outcome)]
    if broken:
        raise _together([*broken, *_missing(plan, scratch)])
    findings = [*_undeclared(plan, outcome), *_missing(plan, scratch), *_strays(plan, scratch)]
    if findings:
        raise _together(findings)


def _together(findings: Sequence[BenchlibError]) -> BenchlibError:
    first, *others = findings
    first.also = tuple(others)
    return first


def _cells(outcome: Outcome) -> Iterator[tuple[int, NotebookCell]]:
    """Yield the plan's cells as executed, with their position in the plan."""
    for index, cell in enumerate(outcome.notebook.cells if outcome.notebook else []):
        is_marker = "papermill-error-cell-tag" in cell.metadata.get("tags", [])
        position = None if is_marker else _position(cell, index)
        if position is not None:
            yield position, cell


def _position(cell: NotebookCell, index: int) -> int | None:
    name = str(cell.get("id", ""))
    if name.startswith("cell-") and name[5:].isdecimal():
        return int(name[5:]) - 1  # ids were given by us, so markers that moved cells don't matter
    return None if "injected-parameters" in cell.metadata.get("tags", []) else index


def _attempts(plan: FrozenPlan, scratch: Path) -> Iterator[OutsideError]:
    journal = scratch / GUARD_NAME
    counted = _counted(plan)
    for line in journal.read_text().splitlines() if journal.exists() else ():
        entry = json.loads(line)
        position = counted.get(int(entry["cell"]))
        place = plan.cell_place(position) if position is not None else plan.place
        yield OutsideError(
            place,
            found=InWords(str(entry["attempt"])),
            allowed="a plan reads its inputs and emits tables: no network, no child process, no"
            " write outside out/",
            next_step="take it out of the cell; a plan that swallows the error still tried",
        )


def _counted(plan: FrozenPlan) -> dict[int, int]:
    """Return execution count -> position in the plan; the injected cell counts too."""
    counts: dict[int, int] = {}
    count = 0
    for index, cell in enumerate(plan.cells):
        if cell.kind == "code":
            count += 1
            counts[count] = index
            count += bool(plan.parameters) and cell.role == "parameters"
    return counts


def _refusals(plan: FrozenPlan, outcome: Outcome) -> Iterator[InputError]:
    """Turn what ``emit`` refused inside the kernel into our errors, with the cell's name."""
    for position, cell in _cells(outcome):
        for output in cell.get("outputs", []):
            for part in output.get("data", {}).get(REFUSAL_MIME, []):
                yield InputError(
                    plan.cell_place(position),
                    str(part["field"]),
                    found=InWords(str(part["found"])),
                    allowed=str(part["allowed"]),
                    next_step=str(part["next"]),
                )


def _failure(plan: FrozenPlan, outcome: Outcome, scratch: Path, limits: Limits) -> BenchlibError:
    position = None
    if outcome.cell_index is not None:
        position = plan_index(plan, outcome.cell_index)
    place = plan.cell_place(position) if position is not None else plan.place
    source = plan.cells[position].source if position is not None else ""
    rows = {
        "raised": (outcome.error, "a cell that ends without an exception"),
        "timed-out": (
            "no end in time",
            f"{limits.cell_seconds} s for a cell, {limits.plan_seconds} s for the plan",
        ),
        "died": (
            f"the kernel ended with exit status {outcome.exit_status}{_reason(outcome)}",
            "a kernel that lives until the last cell",
        ),
        "not-started": (
            f"the kernel did not start: {outcome.error} {_last_words(scratch)}",
            f"a kernel that answers within {limits.start_seconds} s",
        ),
    }
    found, allowed = rows[outcome.kind]
    error = _KINDS.get(outcome.error.partition(":")[0], OutsideError)
    return error(
        place,
        f"source {source.strip()!r}" if source else "",
        found=InWords(found),
        allowed=allowed,
        next_step="correct the cell and freeze a new version; the traceback is in"
        " execution-failed.json",
    )


def _reason(outcome: Outcome) -> str:
    return " (killed; often for want of memory)" if outcome.exit_status == 137 else ""


def _last_words(scratch: Path) -> str:
    log = scratch / "kernel.log"
    lines = log.read_text(errors="replace").strip().splitlines() if log.exists() else []
    return lines[-1] if lines else ""


def _unrun(plan: FrozenPlan, outcome: Outcome) -> Iterator[OutsideError]:
    """Find cells that ended the kernel, and cells that never ran after it."""
    expected = 0
    for position, cell in _cells(outcome):
        if plan.cells[position].source != cell.source:
            yield OutsideError(
                plan.cell_place(position),
                found=InWords("another source in the executed notebook"),
                allowed="the source that was frozen",
                next_step="report this; the kit wrote both",
            )
        if cell.cell_type != "code":
            continue
        expected += 1
        errors = [one for one in cell.outputs if one.output_type == "error"]
        if errors:
            found = f"{errors[0].ename}: {errors[0].evalue}"
        elif cell.execution_count is None:
            found = "it never ran"
        elif cell.execution_count != expected:
            found = f"it ran as number {cell.execution_count}"
        else:
            expected += bool(plan.parameters) and plan.cells[position].role == "parameters"
            continue
        yield OutsideError(
            plan.cell_place(position),
            found=InWords(found),
            allowed="every code cell runs once, in order, without an exception",
            next_step="remove what ends the kernel",
        )


def _stderr(plan: FrozenPlan, outcome: Outcome) -> Iterator[OutsideError]:
    for position, cell in _cells(outcome):
        for output in cell.get("outputs", []):
            if output.output_type == "stream" and output.name == "stderr":
                yield OutsideError(
                    plan.cell_place(position),
                    found=InWords(output.text.strip()),
                    allowed="nothing on stderr: a warning is an error in a plan",
                    next_step="remove the cause of the warning",
                )


def _undeclared(plan: FrozenPlan, outcome: Outcome) -> Iterator[InputError]:
    for position, cell in _cells(outcome):
        role = plan.cells[position].role
        shown = [one for one in cell.get("outputs", []) if one.output_type in _SHOWN]
        foreign = [one for one in shown if TABLE_MIME not in one.get("data", {})]
        if foreign and role not in {"table", "chart"}:
            yield InputError(
                plan.cell_place(position),
                found=InWords("a displayed value that is not among the outputs"),
                allowed=f"the declared outputs: {', '.join(one.id for one in plan.outputs)}",
                next_step="declare it or don't show it",
            )
        for output in shown:
            entry = output.get("data", {}).get(TABLE_MIME)
            if entry is not None and entry["id"] != plan.cells[position].output:
                yield InputError(
                    plan.cell_place(position),
                    found=InWords(f"it emitted the table {entry['id']}"),
                    allowed="the table that its tag names",
                    next_step="emit each table in its own cell",
                )


def _missing(plan: FrozenPlan, scratch: Path) -> Iterator[InputError]:
    for position, cell in enumerate(plan.cells):
        if cell.role == "table" and not (scratch / "out" / f"{cell.output}.json").is_file():
            yield InputError(
                plan.cell_place(position),
                found=InWords(f"table {cell.output} was not emitted"),
                allowed="each declared table, once",
                next_step=f'end the cell with emit("{cell.output}", frame)',
            )


def _strays(plan: FrozenPlan, scratch: Path) -> Iterator[InputError]:
    known = {f"{output.id}.json" for output in plan.outputs}
    for path in sorted((scratch / "out").rglob("*")):
        if path.relative_to(scratch / "out").as_posix() not in known:
            yield InputError(
                plan.place,
                f"out/{path.relative_to(scratch / 'out').as_posix()}",
                found=InWords("a file that was not declared"),
                allowed="only tables, written by emit",
                next_step="declare a table and emit it",
            )
