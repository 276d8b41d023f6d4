"""Frozen plans: a notebook read strictly into one object, whose digest is its identity.

The digest covers each cell's kind, source and role in order, the declared
parameters and outputs, the language and the locked libraries; not outputs,
counts, ids, the kernel's name or other incidental metadata. Reading refuses what
would make a run say something else than the file: all findings in one report.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import rfc8785

from benchlib.analysis import _sources
from benchlib.analysis.declarations import (
    AnalysisLock,
    CellRole,
    Output,
    Parameter,
    PlanCell,
    PlanMetadata,
    PlanObject,
)
from benchlib.analysis.parameters import declared_parameters
from benchlib.contracts.files import write_atomically
from benchlib.contracts.reading import (
    Json,
    StrictJsonError,
    parse,
    read,
    read_bytes,
    read_file,
)
from benchlib.errors import InputError, InWords

LOCK_NAME = "analysis.lock.json"
"""The library lock, beside the notebooks that it pins."""

PINNED_NAME = "analysis-plan.json"
"""The canonical plan object in a cohort's folder, so that drift can be shown cell by cell."""

_CELL_KEYS = {"cell_type", "id", "metadata", "source", "outputs", "execution_count"}
_REFUSED_METADATA = {
    "skip-execution",
    "raises-exception",
    "remove_cell",
    "remove_input",
    "remove_output",
    "hide_input",
    "hide_output",
    "nbconvert",
}
_ROLE_TAGS: dict[str, CellRole] = {
    "parameters": "parameters",
    "benchlib:text": "text",
    "benchlib:load": "load",
}


@dataclass(frozen=True)
class FrozenPlan:
    """A plan as it was read: what it is called and what it is.

    Args:
        place: The notebook's path as messages name it, portable where it can be.
        content: The object that the digest covers.
    """

    place: str
    content: PlanObject

    @property
    def cells(self) -> tuple[PlanCell, ...]:
        """The cells in order."""
        return self.content.cells

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The declared parameters in the order of their cell."""
        return self.content.parameters

    @property
    def outputs(self) -> tuple[Output, ...]:
        """The declared tables."""
        return self.content.outputs

    @cached_property
    def plan_sha256(self) -> str:
        """The plan's identity."""
        return plan_sha256(self.content)

    def cell_place(self, index: int) -> str:
        """Return the name of a cell in messages, counted from 1.

        Args:
            index: The cell's position, counted from 0.
        """
        return f"{self.place}: {cell_title(self.content, index)}"


def cell_title(plan: PlanObject, index: int) -> str:
    """Return a cell's name, such as ``cell 4 of 7 (table primary_outcome)``."""
    cell = plan.cells[index]
    what = f"{cell.role} {cell.output}" if cell.output else cell.role
    return f"cell {index + 1} of {len(plan.cells)} ({what})"


def canonical_plan(plan: PlanObject) -> bytes:
    """Return the RFC 8785 bytes that the digest is taken of; absent fields are left out."""
    return rfc8785.dumps(plan.model_dump(mode="json", exclude_none=True))


def plan_sha256(plan: PlanObject) -> str:
    """Return the SHA-256 of a plan's canonical bytes."""
    return hashlib.sha256(canonical_plan(plan)).hexdigest()


def read_plan(path: Path, *, place: str | None = None) -> FrozenPlan:
    """Read a plan notebook, or refuse it with everything that is wrong with it.

    The library lock ``analysis.lock.json`` lies beside the notebook; its absence is
    an error, since a plan is frozen together with its libraries.

    Args:
        path: The notebook, nbformat 4.5.
        place: Its name in messages; the path as given by default.

    Returns:
        The plan.

    Raises:
        InputError: It is no notebook, or breaks a rule of a plan; all findings in one report.
    """
    name = place or path.as_posix()
    lock = read_file(AnalysisLock, path.parent / LOCK_NAME, f"{name}: {LOCK_NAME} beside it")
    return plan_from_bytes(read_bytes(path, name), place=name, lock=lock)


def plan_from_bytes(data: bytes, *, place: str, lock: AnalysisLock) -> FrozenPlan:
    """Read a plan from a notebook's bytes; see ``read_plan``."""
    return _Reader(place).plan(_notebook(data, place), lock)


def _notebook(data: bytes, place: str) -> dict[str, Json]:
    try:
        notebook = parse(data)
    except StrictJsonError as error:
        raise InputError(
            place,
            found=InWords(error.detail),
            allowed="a notebook as strict JSON: no BOM, duplicate key, NaN or trailing data",
            next_step="save it again with JupyterLab",
        ) from error
    version = (notebook.get("nbformat"), notebook.get("nbformat_minor"))
    if version != (4, 5):
        raise InputError(
            place,
            "nbformat",
            found=".".join(str(part) for part in version),
            allowed="4.5",
            next_step="upgrade it yourself with `jupyter nbconvert --to notebook --inplace`,"
            " and read the difference",
        )
    return notebook


class _Reader:
    """Collects findings while it turns a notebook into a plan object."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.findings: list[InputError] = []

    def plan(self, notebook: dict[str, Json], lock: AnalysisLock) -> FrozenPlan:
        metadata = notebook.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        self._check_language(metadata)
        declared = self._declarations(metadata)
        raw = notebook.get("cells")
        total = len(raw) if isinstance(raw, list) else 0
        cells = [self._cell(cell, f"cell {n} of {total}") for n, cell in _numbered(raw)]
        parameters = self._parameters(cells, declared)
        self._check_outputs(cells, declared.outputs if declared else ())
        if self.findings or declared is None:
            first, *others = self.findings
            first.also = tuple(others)
            raise first
        content = PlanObject(
            cells=tuple(cells),
            parameters=parameters,
            outputs=declared.outputs,
            libraries=lock.libraries,
            python=lock.python,
        )
        return FrozenPlan(self.place, content)

    def _refuse(self, field: str, found: object, allowed: str, next_step: str) -> None:
        told = InWords(found) if isinstance(found, str) else found
        self.findings.append(
            InputError(self.place, field, found=told, allowed=allowed, next_step=next_step)
        )

    def _check_language(self, metadata: dict[str, Json]) -> None:
        for key, name in (("kernelspec", "language"), ("language_info", "name")):
            part = metadata.get(key)
            language = part.get(name, "python") if isinstance(part, dict) else "python"
            if language != "python":
                self._refuse(
                    f"metadata.{key}.{name}", language, "python", "write the plan in Python"
                )
        for key in sorted(_REFUSED_METADATA & metadata.keys()):
            self._refuse(
                f"metadata.{key}", key, "no key that execution or export reads", "remove the key"
            )

    def _declarations(self, metadata: dict[str, Json]) -> PlanMetadata | None:
        declared = metadata.get("benchlib")
        if not isinstance(declared, dict):
            self._refuse(
                "metadata.benchlib",
                "missing" if declared is None else declared,
                "an object with the outputs that the plan promises",
                "declare id, title, columns and order of each table",
            )
            return None
        try:
            data = rfc8785.dumps(declared)
            return read(PlanMetadata, data, f"{self.place}: metadata.benchlib")
        except InputError as error:
            self.findings.append(error)
        except rfc8785.CanonicalizationError as error:
            self._refuse("metadata.benchlib", str(error), "plain JSON", "write it again")
        return None

    def _cell(self, cell: Json, title: str) -> PlanCell:
        cell = cell if isinstance(cell, dict) else {}
        kind = cell.get("cell_type")
        for key in sorted(cell.keys() - _CELL_KEYS):
            self._refuse(
                f"{title}: {key}", key, "cells without attachments or foreign keys", "remove it"
            )
        if kind not in {"markdown", "code"}:
            self._refuse(f"{title}: cell_type", kind, "markdown or code", "change or remove it")
            kind = "markdown"
        source = _source(cell.get("source"))
        if source is None:
            self._refuse(
                f"{title}: source", cell.get("source"), "text or a list of texts", "save it again"
            )
            source = ""
        self._check_metadata(cell.get("metadata"), title)
        role, output = self._role(cell.get("metadata"), is_code=kind == "code", title=title)
        if kind == "code" and not self._check_code(source, role, output, title):
            source = ""  # it was refused, and nothing more can be read from it
        return PlanCell(
            kind="code" if kind == "code" else "markdown", source=source, role=role, output=output
        )

    def _check_metadata(self, metadata: Json, title: str) -> None:
        keys = metadata.keys() if isinstance(metadata, dict) else set()
        for key in sorted(_REFUSED_METADATA & keys):
            self._refuse(
                f"{title}: metadata.{key}",
                key,
                "no key that execution or export reads",
                "remove the key",
            )

    def _role(self, metadata: Json, *, is_code: bool, title: str) -> tuple[CellRole, str | None]:
        raw = metadata.get("tags", []) if isinstance(metadata, dict) else []
        tags = [str(tag) for tag in raw] if isinstance(raw, list) else [str(raw)]
        roles = [role for tag in tags if (role := _role_of(tag, is_code=is_code)) is not None]
        for tag in tags:
            if _role_of(tag, is_code=is_code) is None:
                self._refuse(
                    f"{title}: tag",
                    tag,
                    "parameters, benchlib:text, benchlib:load, benchlib:table:ID or "
                    "benchlib:chart:ID, on a cell of that kind",
                    "remove the tag",
                )
        if len(roles) > 1:
            self._refuse(f"{title}: tags", ", ".join(tags), "one tag", "remove the others")
        return roles[0] if roles else ("load" if is_code else "text", None)

    def _check_code(self, source: str, role: CellRole, output: str | None, title: str) -> bool:
        found = [*_sources.hidden_characters(source), *_sources.code_faults(source)]
        for finding in found:
            self._refuse(
                f"{title}: {finding.where}", finding.found, finding.allowed, "write it another way"
            )
        if any("plain Python" in finding.allowed for finding in found):
            return False
        self._check_emission(source, role, output, title)
        return True

    def _check_emission(self, source: str, role: CellRole, output: str | None, title: str) -> None:
        calls = _sources.emitted_ids(source)
        if role == "table" and (
            not _sources.ends_with_emit(source) or [name for _, name in calls] != [output]
        ):
            self._refuse(
                title,
                f"emits {[name for _, name in calls]}",
                f'one call at its end, emit("{output}", frame), the id as in the tag',
                "one table per cell: call, show, declare",
            )
        if role != "table" and calls:
            self._refuse(
                f"{title}: line {calls[0][0]}",
                f"emit({calls[0][1]!r}, …)",
                "emit only in a cell with the tag benchlib:table:ID",
                "tag the cell",
            )
        if role in {"load", "parameters"} and _sources.shows_its_last_value(source):
            self._refuse(
                title,
                source.rstrip().split("\n")[-1],
                "a displayed value only where it is a declared output or a chart",
                "declare it or don't show it",
            )

    def _parameters(
        self, cells: Sequence[PlanCell], declared: PlanMetadata | None
    ) -> tuple[Parameter, ...]:
        code = [index for index, cell in enumerate(cells) if cell.kind == "code"]
        tagged = [index for index in code if cells[index].role == "parameters"]
        if len(tagged) != 1 or tagged[0] != code[0]:
            self._refuse(
                "parameters",
                [f"cell {index + 1}" for index in tagged],
                "one cell with the tag parameters, the first code cell",
                "put all parameters into one cell",
            )
            return ()
        rules = declared.parameters if declared else ()
        parameters, findings = declared_parameters(cells[tagged[0]].source, rules)
        for finding in findings:
            self._refuse(
                f"cell {tagged[0] + 1} of {len(cells)} (parameters): {finding.where}",
                finding.found,
                finding.allowed,
                "write typed literals; derive values in a later cell",
            )
        return parameters

    def _check_outputs(self, cells: Sequence[PlanCell], outputs: Sequence[Output]) -> None:
        tagged = [cell.output for cell in cells if cell.role == "table"]
        for output in outputs:
            if tagged.count(output.id) != 1:
                self._refuse(
                    f"output {output.id}",
                    f"{tagged.count(output.id)} cells with the tag benchlib:table:{output.id}",
                    "exactly one cell for each declared output",
                    "add or remove a cell",
                )
        known = {output.id for output in outputs}
        for name in tagged:
            if outputs and name not in known:
                self._refuse(
                    f"tag benchlib:table:{name}",
                    name,
                    f"a declared output: {', '.join(sorted(known))}",
                    "declare it or don't show it",
                )


def _numbered(raw: Json) -> Iterator[tuple[int, Json]]:
    return enumerate(raw if isinstance(raw, list) else [], start=1)


def _source(value: Json) -> str | None:
    """Return a source as one text with LF line ends; nothing else is changed."""
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        value = "".join(str(line) for line in value)
    if not isinstance(value, str):
        return None
    return value.replace("\r\n", "\n").replace("\r", "\n")


def _role_of(tag: str, *, is_code: bool) -> tuple[CellRole, str | None] | None:
    """Return what a tag says about a cell of that kind; None for a tag that is refused."""
    if tag in _ROLE_TAGS:
        role = _ROLE_TAGS[tag]
        return (role, None) if is_code == (role != "text") else None
    for prefix, role in (("benchlib:table:", "table"), ("benchlib:chart:", "chart")):
        name = tag.removeprefix(prefix)
        if tag.startswith(prefix) and is_code and _is_identifier(name):
            return ("table", name) if role == "table" else ("chart", name)
    return None


def _is_identifier(name: str) -> bool:
    allowed = set("abcdefghijklmnopqrstuvwxyz0123456789._-")
    return bool(name) and set(name) <= allowed and name[0].isalnum() and len(name) <= 64


def pin_plan(plan: FrozenPlan, cohort: Path) -> Path:
    """Write a plan's canonical object into a cohort's folder.

    Its SHA-256 is the plan's digest, so the file proves itself; with it a later
    drift can be shown as a difference of cells, also when the notebook is gone.

    Args:
        plan: The plan.
        cohort: The cohort's folder.

    Returns:
        The file.
    """
    path = cohort / PINNED_NAME
    write_atomically(path, canonical_plan(plan.content))
    return path


def read_pinned(cohort: Path) -> PlanObject | None:
    """Return the pinned plan object of a cohort; None when none was written."""
    path = cohort / PINNED_NAME
    return read_file(PlanObject, path) if path.exists() else None
