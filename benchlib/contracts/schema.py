"""What `benchlib schema` prints: the JSON Schema of each contract, with what its comments say.

A schema tells shapes, bounds and patterns. Relations between fields, portable
paths and the rules of strict JSON are beyond it: only the reader decides.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import io
import json
import textwrap
import tokenize
from collections.abc import Iterator

from benchlib.contracts import CONTRACTS
from benchlib.contracts._wording import PATTERNS, models_in
from benchlib.contracts.base import Contract
from benchlib.contracts.reading import Json
from benchlib.errors import InputError

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema_text(name: str | None) -> str:
    """Return the JSON Schema of one contract, or of all as one object.

    Args:
        name: A name of ``CONTRACTS``; None for all of them, by name.

    Returns:
        Indented JSON with sorted keys, without a newline at the end.

    Raises:
        InputError: There is no contract of that name.

    Example:
        >>> json.loads(schema_text("condition"))["required"]
        ['id', 'memory']
    """
    if name is None:
        return _printed({each: _schema(model) for each, model in CONTRACTS.items()})
    if name not in CONTRACTS:
        near = difflib.get_close_matches(name, CONTRACTS, n=len(CONTRACTS), cutoff=0.0)
        raise InputError(
            "benchlib schema",
            "CONTRACT",
            found=name,
            allowed=f"one of {', '.join(near)}",
            next_step=f"write {near[0]}, or no name for all",
        )
    return _printed(_schema(CONTRACTS[name]))


def _printed(schema: dict[str, Json]) -> str:
    return json.dumps(schema, indent=2, sort_keys=True, ensure_ascii=False)


def _schema(model: type[Contract]) -> dict[str, Json]:
    schema: dict[str, Json] = {"$schema": DIALECT, **model.model_json_schema()}
    for part in _parts(model):
        described = schema if part is model else _object(_object(schema["$defs"])[part.__name__])
        properties = _object(described.get("properties", {}))
        for name, words in field_comments(part).items():
            field = part.model_fields.get(name)
            shown = _object(properties[(field.alias if field else None) or name])
            shown.setdefault("description", words)
    _explain_patterns(schema)
    return schema


def _object(value: Json) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise TypeError(f"pydantic wrote {value!r} where a schema holds an object")
    return value


def _parts(model: type[Contract]) -> Iterator[type[Contract]]:
    """Walk a contract and the shapes inside it, each once."""
    seen: set[type[Contract]] = set()
    pending = [model]
    while pending:
        part = pending.pop()
        if part not in seen:
            seen.add(part)
            yield part
            for field in part.model_fields.values():
                pending += models_in(field.annotation)


def _explain_patterns(value: Json) -> None:
    """Say beside each pattern what it means, in the words of the reader's messages."""
    if isinstance(value, dict):
        pattern = value.get("pattern")
        if isinstance(pattern, str) and pattern in PATTERNS:
            value.setdefault("description", PATTERNS[pattern])
        for each in value.values():
            _explain_patterns(each)
    elif isinstance(value, list):
        for each in value:
            _explain_patterns(each)


def field_comments(model: type[Contract]) -> dict[str, str]:
    """Return what the source says beside or below each field of a contract.

    Args:
        model: A contract whose source file is there, as in every installation.

    Returns:
        Field to words; a field without a word is left out.

    Example:
        >>> from benchlib.contracts import PlanLock
        >>> field_comments(PlanLock)["plan_sha256"]
        'of the frozen notebook'
    """
    source = textwrap.dedent(inspect.getsource(model))
    comments = {
        token.start[0]: token.string.lstrip("# ")
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }
    body = ast.parse(source).body[0]
    statements = body.body if isinstance(body, ast.ClassDef) else []
    told: dict[str, str] = {}
    for statement, after in zip(statements, [*statements[1:], None], strict=True):
        if not (isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)):
            continue
        words = _docstring(after) or comments.get(statement.end_lineno or 0)
        if words and statement.target.id in model.model_fields:
            told[statement.target.id] = words
    return told


def _docstring(statement: ast.stmt | None) -> str | None:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return inspect.cleandoc(str(statement.value.value))
    return None
