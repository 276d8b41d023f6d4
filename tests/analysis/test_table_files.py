"""Numbers on their way to a file: exact, sorted, and the same bytes in CSV and JSON."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from io import StringIO
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlib.analysis.declarations import Column, Output
from benchlib.analysis.emission import declared_rows, table_html, table_text
from benchlib.analysis.table_files import (
    Cell,
    FractionCell,
    Table,
    build_table,
    check_table,
    encode,
    spreadsheet_csv,
    table_csv,
    table_json,
)
from benchlib.contracts.reading import read
from benchlib.errors import InputError

CASES = Path(__file__).parents[1] / "cases" / "notebooks"
PLAN = "a" * 64
TRAPS = Output(
    id="traps",
    title="Numbers on their way to a file",
    columns=(
        Column(name="challenge", type="text"),
        Column(name="passed", type="integer", nullable=True),
        Column(name="mean_tokens", type="decimal(3)"),
        Column(name="seconds", type="integer", nullable=True),
    ),
    order=("challenge",),
)


def output(*columns: Column, order: tuple[str, ...] = ("key",)) -> Output:
    return Output(id="t", title="A table", columns=columns, order=order)


def table(declared: Output, rows: list[tuple[object, ...]]) -> Table:
    return build_table("cell", declared, rows, PLAN)


def test_what_pandas_made_of_a_file_is_refused_three_times_over() -> None:
    frame = pd.read_csv(CASES / "frame_traps.csv")
    with pytest.raises(InputError) as refused:
        declared_rows(TRAPS, frame)
    findings = [refused.value, *refused.value.also]
    assert [one.field for one in findings] == [
        "table traps, row 2, column passed",
        "table traps, row 1, column mean_tokens",
        "table traps, row 2, column seconds",
    ]


def test_the_same_file_read_with_declared_types_is_written_exactly() -> None:
    types = {"challenge": "string", "passed": "Int64", "mean_tokens": "string", "seconds": "string"}
    frame = pd.read_csv(CASES / "frame_traps.csv", dtype=types)
    frame["mean_tokens"] = [
        Decimal(text) if pd.notna(text) else Decimal(0) for text in frame["mean_tokens"]
    ]
    frame["seconds"] = pd.array([int(Decimal(text)) for text in frame["seconds"]], dtype="Int64")
    made = table(TRAPS, declared_rows(TRAPS, frame))
    assert table_csv(made) == (
        b"challenge,passed,mean_tokens,seconds\n"
        b"a,1,0.100,3\n"
        b"b,,10000000000000000.000,0\n"
        b"c,0,0.000,2\n"
    )


@pytest.mark.parametrize(
    ("value", "kind", "cell"),
    [
        (Fraction(1, 8), "decimal(2)", "0.12"),
        (Fraction(3, 8), "decimal(2)", "0.38"),
        (Fraction(-1, 10_000), "decimal(3)", "0.000"),
        (Decimal("-0.000"), "decimal(3)", "0.000"),
        (Decimal("1e16"), "decimal(1)", "10000000000000000.0"),
        (Fraction(5, 2), "decimal(0)", "2"),
        (Fraction(-7, 2), "decimal(0)", "-4"),
        (Fraction(11, 512), "fraction", FractionCell(n="11", d="512")),
        (2**53 - 1, "integer", 2**53 - 1),
        (False, "boolean", False),
        ("", "text", ""),
        ("2026-02-28", "date", "2026-02-28"),
        ("no-pair", "code", "no-pair"),
    ],
)
def test_a_value_that_fits_becomes_its_cell(value: object, kind: str, cell: Cell) -> None:
    assert encode(value, Column(name="x", type=kind)) == cell


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (1.0, "integer"),
        (True, "integer"),
        (2**53, "integer"),
        ("1", "integer"),
        (1, "boolean"),
        (0.5, "decimal(3)"),
        (1, "decimal(3)"),
        (Decimal("NaN"), "decimal(3)"),
        (Decimal("Infinity"), "decimal(3)"),
        (0.5, "fraction"),
        (1, "text"),
        ("\ud800", "text"),
        ("2026-02-30", "date"),
        ("A" * 64, "digest"),
        ("No Pair", "code"),
        (None, "text"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_and_never_cast(value: object, kind: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        encode(value, Column(name="x", type=kind))


def test_every_column_that_does_not_fit_is_named_with_its_row() -> None:
    declared = output(Column(name="key", type="text"), Column(name="n", type="integer"))
    with pytest.raises(InputError) as refused:
        table(declared, [("a", 1), (2, 1.5), ("c", 2.5)])
    findings = [refused.value, *refused.value.also]
    assert [one.field for one in findings] == [
        "table t, row 2, column key",
        "table t, row 2, column n",
    ]


def test_two_rows_with_one_key_are_refused() -> None:
    with pytest.raises(InputError) as refused:
        table(output(Column(name="key", type="text")), [("a",), ("a",)])
    assert "two rows with the key a" in refused.value.found


@pytest.mark.parametrize(
    ("kind", "values", "ordered"),
    [
        ("text", ["b", "a", "B", "ä", "Z"], ["B", "Z", "a", "b", "ä"]),
        ("integer", [10, 9, -1], [-1, 9, 10]),
        ("decimal(1)", [Fraction(10), Fraction(9)], ["9.0", "10.0"]),
        ("boolean", [True, False], [False, True]),
    ],
)
def test_rows_are_sorted_by_value_and_code_point(
    kind: str, values: list[object], ordered: list[Cell]
) -> None:
    made = table(output(Column(name="key", type=kind)), [(value,) for value in values])
    assert [row[0] for row in made.rows] == ordered


def test_an_empty_text_and_a_missing_one_differ_in_the_file() -> None:
    declared = output(Column(name="key", type="text"), Column(name="v", type="text", nullable=True))
    assert table_csv(table(declared, [("a", ""), ("b", None)])) == b'key,v\na,""\nb,\n'


HOSTILE = [
    json.loads(line)["text"]
    for line in (CASES / "hostile_values.jsonl").read_text().split("\n")
    if line
]


def test_a_formula_stays_in_the_evidence_and_is_defused_in_the_copy() -> None:
    declared = output(Column(name="key", type="text"))
    made = table(declared, [(text,) for text in [*HOSTILE, "+1", "-1", "@a", "\tb", "\rc"]])
    assert b'=HYPERLINK(""x"",""y"")' in table_csv(made)
    copied = spreadsheet_csv(made).decode()
    assert "'=HYPERLINK" in copied
    assert all(
        cell[:1] not in set("=+-@\t\r") for cell in parse_csv(copied)[1:] for cell in cell if cell
    )


def test_hostile_text_in_a_shown_table_is_text() -> None:
    made = table(output(Column(name="key", type="text")), [(text,) for text in HOSTILE])
    page = table_html(made)
    assert "<script" not in page
    assert "<img" not in page
    assert "\x1b" not in table_text(made)


def parse_csv(text: str) -> list[list[str | None]]:
    """Read canonical CSV by its rules alone: an empty field is missing, a quoted one is not."""
    rows: list[list[str | None]] = [[]]
    stream = StringIO(text, newline="")
    field, quoted = "", False
    while character := stream.read(1):
        if character == '"' and not quoted and not field:
            quoted = True
            while True:
                piece = stream.read(1)
                if piece == '"':
                    piece = stream.read(1)
                    if piece != '"':
                        character = piece
                        break
                field += piece
        if character in {",", "\n", ""}:
            rows[-1].append(field if field or quoted else None)
            field, quoted = "", False
            if character == "\n":
                rows.append([])
        else:
            field += character
    return rows[:-1]


def from_csv(field: str | None, column: Column) -> Cell:
    if field is None or column.type == "text":
        return field
    if column.type == "integer":
        return int(field)
    if column.type == "boolean":
        return field == "true"
    if column.type == "fraction":
        n, _, d = field.partition("/")
        return FractionCell(n=n, d=d or "1")
    return field


MANY = output(
    Column(name="key", type="integer"),
    Column(name="words", type="text", nullable=True),
    Column(name="flag", type="boolean", nullable=True),
    Column(name="share", type="fraction", nullable=True),
    Column(name="mean", type="decimal(3)", nullable=True),
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@given(
    st.lists(
        st.tuples(
            st.integers(-(2**53) + 1, 2**53 - 1),
            st.none() | TEXTS | st.sampled_from([*HOSTILE, '"', ",", " a", "a ", "\r\n", "NaN"]),
            st.none() | st.booleans(),
            st.none() | st.fractions(),
            st.none()
            | st.fractions()
            | st.decimals(allow_nan=False, allow_infinity=False, places=5),
        ),
        unique_by=lambda row: row[0],
        max_size=6,
    )
)
def test_csv_and_json_hold_the_same_cells(rows: list[tuple[object, ...]]) -> None:
    made = table(MANY, rows)
    header, *lines = parse_csv(table_csv(made).decode())
    assert header == [column.name for column in MANY.columns]
    rebuilt = [[from_csv(f, c) for f, c in zip(line, MANY.columns, strict=True)] for line in lines]
    assert [list(row) for row in made.rows] == rebuilt
    assert check_table("file", read(Table, table_json(made), "t.json"), MANY, PLAN) == made


@pytest.mark.parametrize(
    "change",
    [
        {"title": "Another"},
        {"plan_sha256": "b" * 64},
        {"rows": ((2,), (1,))},
        {"rows": ((1, 2),)},
        {"columns": (Column(name="key", type="integer", unit="pairs"),)},
        {"status": "exploratory"},
    ],
)
def test_a_table_that_is_not_the_declared_one_is_refused(change: dict[str, object]) -> None:
    declared = output(Column(name="key", type="integer"))
    made = table(declared, [(1,), (2,)]).model_copy(update=change)
    with pytest.raises(InputError):
        check_table("file", made, declared, PLAN)


@pytest.mark.parametrize(
    ("frame", "found"),
    [
        (pd.DataFrame({"key": ["a"], "more": [1]}), "column more too many"),
        (pd.DataFrame({"other": ["a"]}), "column other too many, column key missing"),
        ([("a", 1)], "2 values"),
    ],
)
def test_other_columns_than_the_declared_ones_are_refused(frame: object, found: str) -> None:
    with pytest.raises(InputError) as refused:
        declared_rows(output(Column(name="key", type="text")), frame)  # type: ignore[arg-type] # on purpose
    assert found in refused.value.found
