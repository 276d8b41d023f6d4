"""The surfaces that are texts: evidence, graphs, what the challenge says, what the kit writes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchlib.contracts.reading import Json, StrictJsonError, parse, read_bytes
from benchlib.errors import InputError
from benchlib.prepare import patterns
from benchlib.prepare._autoload import found_in
from benchlib.prepare._findings import Collected, no_surface
from benchlib.prepare._identity import NameJudge, all_texts, identity_texts
from benchlib.prepare._scanner import Scanner


def read_evidence(path: Path, scanner: Scanner, collected: Collected) -> None:
    """Read the evidence corpus, one JSON object a line, line by line.

    Args:
        path: The file.
        scanner: What to look for in each text of each object.
        collected: Where findings go.

    Raises:
        InputError: The file is absent or empty, or a line is no object.
    """
    digest = hashlib.sha256()
    size = objects = 0
    hits: dict[int, int] = {}
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                digest.update(line)
                size += len(line)
                if line.strip():
                    objects += 1
                    for rule in _hits_in(_object(line, f"{path}:{number}"), scanner):
                        hits.setdefault(rule, number)
    except OSError as error:
        raise no_surface(str(path), error.strerror or str(error)) from error
    if objects == 0:
        raise no_surface(str(path), "no object at all")
    sha256 = digest.hexdigest()
    collected.add_hits("evidence", path.name, scanner, hits, sha256=sha256)
    collected.read("evidence", "evidence", files=1, size_bytes=size, sha256=sha256)


def read_graph(
    name: str, path: Path, scanner: Scanner, judge: NameJudge, collected: Collected
) -> None:
    """Read one graph: a JSON object, or one a line.

    Args:
        name: Of the graph arm.
        path: The file.
        scanner: What to look for in each text.
        judge: The strict vocabulary, for identity fields.
        collected: Where findings go.

    Raises:
        InputError: The file is absent, or its names can't be read because it is no JSON.
    """
    surface = f"graph:{name}"
    data = read_bytes(path)
    sha256 = hashlib.sha256(data).hexdigest()
    for document in _documents(data, path):
        hits = _hits_in(document, scanner)
        for rule in hits:
            line = _line_of(data, scanner.rules[rule].pattern)
            collected.add_hits(surface, path.name, scanner, {rule: line or 1}, sha256=sha256)
        for text in dict.fromkeys(identity_texts(document)):
            for term, why in judge.faults(text):
                collected.add(
                    surface,
                    path.name,
                    "benchmark-awareness",
                    term,
                    f"{why} (in the name {text[:200]!r})",
                    line=_line_of(data, text),
                    sha256=sha256,
                )
    collected.read(surface, "graph", files=1, size_bytes=len(data), sha256=sha256)


def read_challenge(
    parts: Mapping[str, str], scanner: Scanner, collected: Collected, *, ignores_case: bool
) -> None:
    """Read what the agent is told, part by part.

    Args:
        parts: Name to text; `allowed_outputs` is a list of paths, one a line.
        scanner: What to look for.
        collected: Where findings go.
        ignores_case: Whether the harness folds names.

    Raises:
        InputError: There is no part, or an empty one.
    """
    if not parts:
        raise no_surface("challenge", "no visible text")
    for part, text in parts.items():
        if not text.strip() and part != OUTPUTS:
            raise no_surface(f"challenge: {part}", "an empty text")
        surface = f"challenge:{part}"
        collected.add_hits(surface, part, scanner, scanner.text(text))
        for path in text.splitlines() if part == OUTPUTS else ():
            _judge_path(surface, path.removeprefix("**/"), collected, ignores_case=ignores_case)
        raw = text.encode("utf-8", "surrogatepass")
        collected.read(
            surface,
            "challenge",
            files=1,
            size_bytes=len(raw),
            sha256=hashlib.sha256(raw).hexdigest(),
        )


OUTPUTS = "allowed_outputs"


def read_kit_names(
    names: tuple[str, ...],
    scanner: Scanner,
    judge: NameJudge,
    collected: Collected,
    *,
    ignores_case: bool,
) -> None:
    """Judge the names that the kit writes where an agent may see them.

    Args:
        names: Projects, runs, paths, branches, marks.
        scanner: What to look for.
        judge: The strict vocabulary with the kit's own words.
        collected: Where findings go.
        ignores_case: Whether the harness folds names.

    Raises:
        InputError: There is no name: the kit always writes some.
    """
    if not names:
        raise no_surface("kit names", "no name at all")
    for name in names:
        collected.add_hits("kit-names", name, scanner, scanner.text(name), in_name=True)
        for term, why in judge.faults(name):
            collected.add("kit-names", name, "benchmark-awareness", term, why)
        _judge_path("kit-names", name.strip("/"), collected, ignores_case=ignores_case)
    raw = "\n".join(names).encode("utf-8", "surrogatepass")
    collected.read(
        "kit-names",
        "kit-names",
        files=len(names),
        size_bytes=len(raw),
        sha256=hashlib.sha256(raw).hexdigest(),
    )


def _judge_path(surface: str, path: str, collected: Collected, *, ignores_case: bool) -> None:
    """Judge a path that will exist: a harness may load it once it is there."""
    named = path and found_in(path, is_link=True, ignores_case=ignores_case)
    if named:
        collected.add(surface, path, "auto-loaded-context", named.row, patterns.WHY_AUTO_LOADED)


def _hits_in(document: Mapping[str, Json], scanner: Scanner) -> dict[int, int]:
    hits: dict[int, int] = {}
    for text in all_texts(document):
        hits.update(scanner.text(text))
    return hits


def _object(line: bytes, place: str) -> dict[str, Json]:
    try:
        return parse(line)
    except StrictJsonError as error:
        raise InputError(
            place,
            found=error.detail,
            allowed="one strict JSON object a line",
            next_step="correct the line: a surface that can't be read can't be certified",
        ) from error


def _documents(data: bytes, path: Path) -> Iterator[dict[str, Json]]:
    try:
        yield parse(data)
    except StrictJsonError as error:
        if error.reason != "trailing-data":
            raise InputError(
                str(path),
                found=error.detail,
                allowed="a graph as one strict JSON object, or one a line",
                next_step="export the graph as JSON: names that can't be read can't be certified",
            ) from error
        for number, line in enumerate(data.splitlines(), 1):
            if line.strip():
                yield _object(line, f"{path}:{number}")


def _line_of(data: bytes, text: str) -> int | None:
    """Return the line where a text stands as it is; escapes in the JSON may hide it."""
    at = data.lower().find(text.lower().encode("utf-8", "surrogatepass"))
    return None if at < 0 else data.count(b"\n", 0, at) + 1
