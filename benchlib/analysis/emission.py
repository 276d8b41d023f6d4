"""``emit``: the one call by which a plan's cell gives a table away.

Inside a plan's run it checks the frame against the declaration and leaves the
table in ``out/``; anywhere else, in JupyterLab for one, it shows the same table
and writes nothing. A float is refused, never rounded: one missing value would
turn a column of whole numbers into ``1.0``.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from benchlib.analysis.declarations import Output
from benchlib.analysis.table_files import (
    Misfit,
    Table,
    build_table,
    refuse_misfits,
    shown,
    table_json,
)
from benchlib.errors import InputError, InWords, escaped

TABLE_MIME = "application/vnd.benchlib.table+json"
"""Marks in a cell's output which table it emitted."""

REFUSAL_MIME = "application/vnd.benchlib.refusal+json"
"""Carries a refusal of ``emit`` to the runner, part by part."""


@dataclass
class Run:
    """The run of a plan inside its kernel."""

    outputs: Mapping[str, Output]
    plan_sha256: str
    out: Path
    emitted: list[str] = field(default_factory=list)


_RUNS: list[Run] = []  # one in a plan's kernel, none elsewhere


def begin(run: Run) -> None:
    """Tell this process that it runs a plan; called once, by the kernel's launcher."""
    _RUNS.append(run)


def emit(output: str, frame: pd.DataFrame | Iterable[Sequence[object]]) -> None:
    """Give a declared table away, and show it.

    Args:
        output: The id under which the plan declares it.
        frame: A frame with exactly the declared columns, or rows in their order.

    Raises:
        InputError: The id was not declared or was emitted before, a column is missing or
            too many, a value does not fit its column, or two rows share the sort key.
    """
    if not _RUNS:
        _show_frame(frame)
        return
    try:
        table = _table(_RUNS[0], output, frame)
    except InputError as error:
        _display({REFUSAL_MIME: error.parts(), "text/plain": str(error)})
        raise
    (_RUNS[0].out / f"{table.id}.json").write_bytes(table_json(table))
    _RUNS[0].emitted.append(table.id)
    _display(
        {
            TABLE_MIME: {"id": table.id, "rows": len(table.rows)},
            "text/html": table_html(table),
            "text/plain": table_text(table),
        }
    )


def _table(run: Run, output: str, frame: pd.DataFrame | Iterable[Sequence[object]]) -> Table:
    declared = run.outputs.get(output)
    if declared is None or output in run.emitted:
        raise InputError(
            "emit",
            f"table {output}",
            found=InWords(
                "an id that was not declared" if declared is None else "a second emission"
            ),
            allowed=f"each of {', '.join(run.outputs)} once",
            next_step="declare it among the plan's outputs, or emit it once",
        )
    return build_table("emit", declared, declared_rows(declared, frame), run.plan_sha256)


def declared_rows(
    output: Output, frame: pd.DataFrame | Iterable[Sequence[object]]
) -> list[tuple[object, ...]]:
    """Return the rows of a frame as plain values in the order of the declared columns.

    Args:
        output: The declaration.
        frame: A frame, or rows.

    Returns:
        Rows in which a missing value is None.

    Raises:
        InputError: Columns are missing or too many, a row has another length, or a column
            came as float; all of it in one report.
    """
    if not isinstance(frame, pd.DataFrame):
        return _plain_rows(output, [tuple(row) for row in frame])
    names = [column.name for column in output.columns]
    _refuse_columns(output, [str(name) for name in frame.columns], names)
    misfits = [
        Misfit(
            _first_fraction(frame[name]),
            name,
            InWords(f"{frame[name].dtype} column"),
            _rule(output, name),
        )
        for name in names
        if pd.api.types.is_float_dtype(frame[name].dtype)
    ]
    refuse_misfits("emit", output, misfits)
    columns = [_values(frame[name]) for name in names]
    return list(zip(*columns, strict=True))


def _plain_rows(output: Output, rows: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    for number, row in enumerate(rows, start=1):
        if len(row) != len(output.columns):
            raise InputError(
                "emit",
                f"table {output.id}, row {number}",
                found=InWords(f"{len(row)} values"),
                allowed=f"{len(output.columns)} values, one for each declared column",
                next_step="give the columns that the plan declares",
            )
    return rows


def _refuse_columns(output: Output, found: list[str], names: list[str]) -> None:
    if sorted(found) != sorted(names):
        more = [name for name in found if name not in names]
        less = [name for name in names if name not in found]
        parts = [f"column {name} too many" for name in more]
        parts += [f"column {name} missing" for name in less]
        raise InputError(
            "emit",
            f"table {output.id}",
            found=InWords(", ".join(parts) or "a column twice"),
            allowed=f"the declared columns: {', '.join(names)}",
            next_step="select the declared columns, or declare what you emit",
        )


def _first_fraction(series: pd.Series) -> int:
    """Return the first row, from 1, that a whole number can't stand in; else the first row."""
    for number, value in enumerate(series.tolist(), start=1):
        if not float(value).is_integer() or str(value).startswith("-0"):
            return number
    return 1


def _rule(output: Output, name: str) -> str:
    column = next(column for column in output.columns if column.name == name)
    wanted = {"integer": "Int64", "boolean": "bool"}.get(column.type, "exact values, no float")
    return f"{column.type} ({wanted}): float drops whole numbers and exactness"


def _values(series: pd.Series) -> list[object]:
    """Return a column as plain Python values; what pandas calls missing is None."""
    return [None if _is_missing(value) else _plain(value) for value in series.tolist()]


def _is_missing(value: object) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and value != value)  # noqa: PLR0124 - NaN


def _plain(value: object) -> object:
    """Unwrap a numpy scalar; its type is kept, nothing is cast."""
    return value.item() if hasattr(value, "item") and hasattr(value, "dtype") else value


def table_html(table: Table) -> str:
    """Return a table as HTML in which every text is text."""
    head = "".join(f'<th scope="col">{html.escape(c.name)}</th>' for c in table.columns)
    body = "".join(
        f"<tr>{''.join(f'<td>{html.escape(escaped(shown(cell)))}</td>' for cell in row)}</tr>"
        for row in table.rows
    )
    caption = f"<caption>{html.escape(table.title)}</caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def table_text(table: Table) -> str:
    """Return a table as plain lines, columns set apart by two blanks."""
    rows = [[column.name for column in table.columns]]
    rows += [[escaped(shown(cell)) for cell in row] for row in table.rows]
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def _display(bundle: Mapping[str, object]) -> None:
    from IPython.display import display  # noqa: PLC0415 - only where there is a notebook

    display(dict(bundle), raw=True)  # type: ignore[no-untyped-call] # IPython has no types


def _show_frame(frame: pd.DataFrame | Iterable[Sequence[object]]) -> None:
    shown_frame = frame if isinstance(frame, pd.DataFrame) else pd.DataFrame(list(frame))
    _display({"text/html": shown_frame.to_html(index=False), "text/plain": shown_frame.to_string()})
