"""What a plan declares beside its cells: output tables with their columns, and parameters.

A table that was not declared can't be published, and a column without a declared
type can't be written. Declarations are part of what the plan's digest covers.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from benchlib.contracts.base import LARGEST_INTEGER, Contract, Identifier


def _shaped(pattern: str, rule: str) -> AfterValidator:
    """Return a check that tells its rule in words; a raw pattern would tell nobody anything."""

    def check(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise ValueError(rule)
        return text

    return AfterValidator(check)


_NAME = _shaped(r"[a-z][a-z0-9_]{0,63}", "1 to 64 of a-z, 0-9 and '_', the first a letter")
ColumnName = Annotated[str, _NAME]
ColumnType = Annotated[
    str,
    _shaped(
        r"text|integer|boolean|fraction|digest|date|code|decimal\(([0-9]|1[0-2])\)",
        "text, integer, boolean, fraction, decimal(0) to decimal(12), digest, date or code",
    ),
]
ParameterName = Annotated[str, _NAME]
ParameterType = Literal["integer", "text", "boolean", "path", "text-list", "integer-list"]
Bound = Annotated[int, Field(ge=-LARGEST_INTEGER, le=LARGEST_INTEGER)]
ParameterValue = bool | int | str | tuple[int, ...] | tuple[str, ...]
Status = Literal["promised", "exploratory"]


class Column(Contract):
    """One column of a table."""

    name: ColumnName
    type: ColumnType
    unit: Annotated[str, StringConstraints(min_length=1, max_length=60)] | None = None
    nullable: bool = False

    @property
    def places(self) -> int | None:
        """Digits behind the point of a ``decimal(k)`` column; None for any other type."""
        is_decimal = self.type.startswith("decimal(")
        return int(self.type.removeprefix("decimal(").rstrip(")")) if is_decimal else None


class Output(Contract):
    """One table that a plan promises, or calls exploratory."""

    id: Identifier
    title: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    status: Status = "promised"
    columns: Annotated[tuple[Column, ...], Field(min_length=1)]
    order: Annotated[tuple[ColumnName, ...], Field(min_length=1)]  # unique over the rows

    @model_validator(mode="after")
    def _order_names_columns(self) -> Output:
        names = [column.name for column in self.columns]
        if len(set(names)) != len(names):
            msg = f"each column name of {self.id!r} once"
            raise ValueError(msg)
        nullable = {column.name for column in self.columns if column.nullable}
        for name in self.order:
            if name not in names or name in nullable:
                msg = f"order of {self.id!r} names {name!r}, which is no column that is never null"
                raise ValueError(msg)
        return self


class ParameterRule(Contract):
    """A bound on a parameter, or that its text is a portable path below the inputs."""

    name: ParameterName
    minimum: Bound | None = None
    maximum: Bound | None = None
    is_path: bool = False


class PlanMetadata(Contract):
    """The part of a notebook's metadata that is ours, under ``benchlib``."""

    outputs: Annotated[tuple[Output, ...], Field(min_length=1)]
    parameters: tuple[ParameterRule, ...] = ()

    @model_validator(mode="after")
    def _names_are_unique(self) -> PlanMetadata:
        for what, names in (
            ("outputs", [output.id for output in self.outputs]),
            ("parameters", [rule.name for rule in self.parameters]),
        ):
            if len(set(names)) != len(names):
                msg = f"each name in {what} once"
                raise ValueError(msg)
        return self


class Parameter(Contract):
    """One parameter as the parameters cell and its rule declare it."""

    name: ParameterName
    type: ParameterType
    minimum: Bound | None = None
    maximum: Bound | None = None
    default: ParameterValue


class Library(Contract):
    """A library that an analysis rests on; the same cell under another one is another analysis."""

    name: Annotated[
        str,
        _shaped(r"[a-z0-9]+(-[a-z0-9]+)*", "a distribution's name, normalised as PEP 503 says"),
    ]
    version: Annotated[str, StringConstraints(min_length=1, max_length=100)]


PythonVersion = Annotated[str, _shaped(r"3\.[0-9]{1,3}", "a Python version such as 3.11")]


class AnalysisLock(Contract):
    """The libraries and the Python under which a plan was frozen; lies beside the notebook."""

    schema_version: Annotated[int, Field(ge=1, le=1)] = 1
    python: PythonVersion
    libraries: Annotated[tuple[Library, ...], Field(min_length=1)]  # by name

    @model_validator(mode="after")
    def _sorted_by_name(self) -> AnalysisLock:
        names = [library.name for library in self.libraries]
        if names != sorted(set(names)):
            msg = "libraries sorted by name, each once"
            raise ValueError(msg)
        return self


CellKind = Literal["markdown", "code"]
CellRole = Literal["text", "parameters", "load", "table", "chart"]


class PlanCell(Contract):
    """One cell: what it says and what it is for; nothing else of it is the plan."""

    kind: CellKind
    source: str
    role: CellRole
    output: Identifier | None = None  # of a table or chart cell


class PlanObject(Contract):
    """The one object whose canonical bytes are the plan's identity."""

    contract: Literal["frozen-plan"] = "frozen-plan"
    schema_version: Annotated[int, Field(ge=1, le=1)] = 1
    language: Literal["python"] = "python"
    cells: tuple[PlanCell, ...]
    parameters: tuple[Parameter, ...]
    outputs: tuple[Output, ...]
    libraries: tuple[Library, ...]
    python: PythonVersion
