"""Published tables: exact cells, and the one way in which each is written as CSV and JSON.

No binary float, no cast, no locale: a value that does not fit its declared column
is an error that names row and column. Rows are sorted by the declared key, which
must be unique. The same cells give the same bytes on every machine.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from benchlib.analysis.declarations import Column, Output, Status
from benchlib.contracts.base import LARGEST_INTEGER, Contract, Identifier, Sha256
from benchlib.errors import InputError, InWords


def _whole_text(text: str) -> str:
    if not re.fullmatch(r"-?(0|[1-9][0-9]*)", text):
        raise ValueError("a whole number as decimal text")
    return text


class FractionCell(Contract):
    """A ratio in lowest terms, as decimal texts, so that no reader rounds it."""

    n: Annotated[str, AfterValidator(_whole_text)]
    d: Annotated[str, AfterValidator(_whole_text)]


Cell = bool | int | str | FractionCell | None
Row = tuple[Cell, ...]


class Table(Contract):
    """One published table, whole."""

    contract: Literal["table"] = "table"
    schema_version: Annotated[int, Field(ge=1, le=1)] = 1
    id: Identifier
    title: str
    status: Status
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    plan_sha256: Sha256

    def column(self, name: str) -> tuple[Cell, ...]:
        """Return the cells of one column, top to bottom."""
        index = [column.name for column in self.columns].index(name)
        return tuple(row[index] for row in self.rows)

    def records(self) -> list[dict[str, Cell]]:
        """Return the rows by column name."""
        names = [column.name for column in self.columns]
        return [dict(zip(names, row, strict=True)) for row in self.rows]


@dataclass(frozen=True)
class Misfit:
    """A value that does not fit its column."""

    row: int  # counts from 1
    column: str
    found: object
    allowed: str


def encode(value: object, column: Column) -> Cell:
    """Turn one value into a cell of a column.

    Args:
        value: What the frame held; None for a missing value.
        column: The declared column.

    Returns:
        The cell.

    Raises:
        ValueError: It does not fit exactly; the message is the rule.

    Example:
        >>> encode(Fraction(1, 8), Column(name="rate", type="decimal(2)"))
        '0.12'
    """
    if value is None:
        if not column.nullable:
            raise ValueError("a value in every row; the column is not nullable")
        return None
    if column.places is not None:
        return _decimal(value, column.places)
    return _ENCODERS[column.type](value)


def _text(value: object) -> str:
    if not isinstance(value, str) or any(0xD800 <= ord(one) <= 0xDFFF for one in value):
        raise ValueError("text (str) without lone surrogates")
    return value


def _integer(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > LARGEST_INTEGER:
        raise ValueError("a whole number (int or Int64) up to 2^53 - 1, never float")
    return value


def _boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false (bool)")  # noqa: TRY004 - one kind of error for a misfit
    return value


def _fraction(value: object) -> FractionCell:
    if not isinstance(value, Fraction):
        raise ValueError("fractions.Fraction")  # noqa: TRY004 - one kind of error for a misfit
    return FractionCell(n=str(value.numerator), d=str(value.denominator))


def _decimal(value: object, places: int) -> str:
    is_exact = isinstance(value, Fraction) or (isinstance(value, Decimal) and value.is_finite())
    if not is_exact:
        raise ValueError(f"Fraction or Decimal, shown with {places} places; never float")
    scaled = round(Fraction(value) * 10**places)  # type: ignore[call-overload] # half to even
    digits = f"{abs(scaled):0{places + 1}d}"
    sign = "-" if scaled < 0 else ""
    whole, rest = digits[: len(digits) - places], digits[len(digits) - places :]
    return f"{sign}{whole}.{rest}" if places else f"{sign}{whole}"


def _matching(pattern: str, rule: str) -> Callable[[object], str]:
    def check(value: object) -> str:
        if not isinstance(value, str) or not re.fullmatch(pattern, value):
            raise ValueError(rule)
        return value

    return check


def _date(value: object) -> str:
    text = _matching(r"\d{4}-\d\d-\d\d", "a date as YYYY-MM-DD")(value)
    dt.date.fromisoformat(text)
    return text


_ENCODERS: Mapping[str, Callable[[object], Cell]] = {
    "text": _text,
    "integer": _integer,
    "boolean": _boolean,
    "fraction": _fraction,
    "digest": _matching(r"[0-9a-f]{64}", "64 lower-case hexadecimal digits"),
    "date": _date,
    "code": _matching(r"[a-z0-9]+(-[a-z0-9]+)*", "a code in kebab-case"),
}


def build_table(
    place: str, output: Output, rows: Iterable[Sequence[object]], plan_sha256: str
) -> Table:
    """Make a table of values, sorted, or refuse all that does not fit.

    Args:
        place: The cell or file, for messages.
        output: The declaration.
        rows: Values in the order of the declared columns; None for a missing one.
        plan_sha256: The plan that makes it.

    Returns:
        The table.

    Raises:
        InputError: A value does not fit, or two rows have the same key; one finding per column.
    """
    values = [tuple(row) for row in rows]
    misfits: dict[str, Misfit] = {}
    cells = [_row(number, row, output.columns, misfits) for number, row in enumerate(values, 1)]
    refuse_misfits(place, output, misfits.values())
    keyed = sorted(((_key(row, output), row) for row in cells), key=lambda pair: pair[0])
    for (key, _), (following, _) in itertools.pairwise(keyed):
        if key == following:
            raise InputError(
                place,
                f"table {output.id}: order {', '.join(output.order)}",
                found=InWords(f"two rows with the key {', '.join(str(part) for part in key)}"),
                allowed="a key that no two rows share",
                next_step="add a column to `order`, or aggregate the rows",
            )
    return Table(
        id=output.id,
        title=output.title,
        status=output.status,
        columns=output.columns,
        rows=tuple(row for _, row in keyed),
        plan_sha256=plan_sha256,
    )


def _row(
    number: int, row: Sequence[object], columns: Sequence[Column], misfits: dict[str, Misfit]
) -> Row:
    cells: list[Cell] = []
    for value, column in zip(row, columns, strict=True):
        try:
            cells.append(encode(value, column))
        except ValueError as error:
            misfits.setdefault(column.name, Misfit(number, column.name, value, str(error)))
            cells.append(None)
    return tuple(cells)


def refuse_misfits(place: str, output: Output, misfits: Iterable[Misfit]) -> None:
    """Raise one ``InputError`` that holds every misfit; nothing if there is none."""
    findings = [
        InputError(
            place,
            f"table {output.id}, row {misfit.row}, column {misfit.column}",
            found=misfit.found,
            allowed=misfit.allowed,
            next_step="read or compute the column with its declared type",
        )
        for misfit in misfits
    ]
    if findings:
        first, *others = findings
        first.also = tuple(others)
        raise first


def _key(row: Row, output: Output) -> tuple[Fraction | str, ...]:
    """Return the sort key: text by code point, numbers by value."""
    cells = dict(zip(output.columns, row, strict=True))
    by_name = {column.name: (column, cell) for column, cell in cells.items()}
    return tuple(_sortable(*by_name[name]) for name in output.order)


def _sortable(column: Column, cell: Cell) -> Fraction | str:
    if isinstance(cell, FractionCell):
        return Fraction(int(cell.n), int(cell.d))
    if isinstance(cell, int):
        return Fraction(cell)
    return Fraction(str(cell)) if column.places is not None else str(cell)


def check_table(place: str, table: Table, output: Output, plan_sha256: str) -> Table:
    """Check a table that was read against its declaration, cell by cell.

    Args:
        place: Where it came from.
        table: As read.
        output: The declaration it must meet.
        plan_sha256: The plan it must name.

    Returns:
        The same table.

    Raises:
        InputError: It is another table than the declared one.
    """
    rows = [
        [_decoded(cell, column) for cell, column in zip(row, output.columns, strict=False)]
        for row in table.rows
    ]
    widths = {len(row) for row in table.rows} | {len(output.columns)}
    rebuilt = build_table(place, output, rows, plan_sha256) if len(widths) == 1 else None
    if rebuilt != table:
        raise InputError(
            place,
            f"table {output.id}",
            found=InWords("other columns, order, title or plan than declared"),
            allowed="the table that the plan declares",
            next_step="emit it with the kit's emit",
        )
    return table


def _decoded(cell: Cell, column: Column) -> object:
    if isinstance(cell, FractionCell):
        return Fraction(int(cell.n), int(cell.d))
    return Decimal(cell) if column.places is not None and isinstance(cell, str) else cell


def table_json(table: Table) -> bytes:
    """Return the canonical JSON; the table's digest is taken of these bytes."""
    return table.canonical()


def table_csv(table: Table) -> bytes:
    """Return the canonical CSV: UTF-8, LF, comma, header, the last line ended.

    A missing value is an empty field, an empty text is ``""``. Texts are written
    as they are: what a spreadsheet would take for a formula is evidence.
    """
    lines = [",".join(column.name for column in table.columns)]
    lines += [",".join(_csv_field(cell) for cell in row) for row in table.rows]
    return ("\n".join(lines) + "\n").encode()


def _csv_field(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, FractionCell):
        return cell.n if cell.d == "1" else f"{cell.n}/{cell.d}"
    if isinstance(cell, int):
        return str(cell)
    needs_quotes = not cell or cell[0] in " \t" or cell[-1] in " \t" or set(cell) & set(',"\r\n')
    return '"' + cell.replace('"', '""') + '"' if needs_quotes else cell


def spreadsheet_csv(table: Table) -> bytes:
    """Return a copy for spreadsheets, in which no text can act as a formula.

    It is another file under another name: the canonical CSV keeps the bytes.
    """
    rows = tuple(
        tuple(
            f"'{cell}"
            if isinstance(cell, str) and column.type == "text" and cell[:1] in {*"=+-@\t\r"}
            else cell
            for cell, column in zip(row, table.columns, strict=True)
        )
        for row in table.rows
    )
    return table_csv(table.model_copy(update={"rows": rows}))


def shown(cell: Cell) -> str:
    """Return a cell as a report shows it; a missing one is a dash.

    Example:
        >>> shown(FractionCell(n="1", d="8")), shown(None), shown(False)
        ('1/8', '-', 'no')
    """
    if cell is None:
        return "-"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, FractionCell):
        return cell.n if cell.d == "1" else f"{cell.n}/{cell.d}"
    return str(cell)


def sha256(data: bytes) -> str:
    """Return the SHA-256 of bytes as hexadecimal text."""
    return hashlib.sha256(data).hexdigest()
