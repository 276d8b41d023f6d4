"""What pydantic found, as a person would tell it: the field, what stands there, the rule.

Serves ``contracts.reading``. Pydantic names the branch of a union inside a field's
place, shows patterns raw and counts each branch as a finding of its own; here a
place is one that the file has, a pattern is told in words, and branches are one.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from benchlib.contracts.base import Contract, RelationError
from benchlib.errors import InWords

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Location = tuple[int | str, ...]

PATTERNS: Mapping[str, str] = {
    r"^[0-9a-f]{64}$": "a SHA-256: 64 lower-case hexadecimal digits",
    r"^([0-9a-f]{40}|[0-9a-f]{64})$": "a full Git commit: 40 or 64 lower-case hexadecimal digits",
    r"^[a-z0-9][a-z0-9._-]{0,63}$": (
        "an identifier: 1 to 64 of a-z, 0-9, '.', '_' and '-', the first a letter or digit"
    ),
    r"^[a-z0-9]+(-[a-z0-9]+)*$": "a reason code: words of a-z and 0-9 with single '-' between",
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{3})?Z$": (
        "a time in UTC such as 2026-01-31T12:00:00Z, milliseconds allowed"
    ),
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$": "a date such as 2026-01-31",
    r"^[0-9]{1,24}(\.[0-9]{1,15})?$": (
        "an amount in USD as decimal text, at most 15 decimals, such as '0.004155'"
    ),
    r"^[0-9]{1,12}(\.[0-9]{1,9})?$": (
        "an amount as text such as '0.25': 1 to 12 digits, then at most 9 after a point"
    ),
    r"^[^\x00]*$": "text without a NUL character",
    r"^[A-Za-z_][A-Za-z0-9_]{0,127}$": (
        "the name of an environment variable: 1 to 128 letters, digits and '_', no digit first"
    ),
    r"^[a-z0-9-]{8,64}$": "a run identity: 8 to 64 of a-z, 0-9 and '-'",
    r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$": (
        "a project name: 1 to 128 letters, digits, '.', '_', ':' and '-', first a letter or digit"
    ),
    r"^ATIF-v1\.[0-8]$": "ATIF-v1.0 to ATIF-v1.8",
    r"^a[1-9][0-9]{0,3}$": "an attempt: 'a' and a number from 1 to 9999, such as a1",
}
"""Each pattern of a contract in words; a test holds the table complete."""


def _literal(context: Mapping[str, Any]) -> str:
    expected = str(context["expected"])
    return f"one of {expected}" if " or " in expected else expected


def _number(bound: float) -> str:
    return str(int(bound)) if bound == int(bound) else str(bound)


def _entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count} entries"


def _characters(count: int) -> str:
    return "1 character" if count == 1 else f"{count} characters"


# By pydantic's name of the rule; each gets the context of the finding.
_RULES: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "missing": lambda _: "a value; the field is required",
    "string_type": lambda _: "a string",
    "string_unicode": lambda _: "a string without lone surrogates",
    "int_type": lambda _: "a whole number, written without quotes, fraction or exponent",
    "float_type": lambda _: "a number",
    "finite_number": lambda _: "a finite number",
    "bool_type": lambda _: "true or false",
    "none_required": lambda _: "null",
    "tuple_type": lambda _: "an array",
    "dict_type": lambda _: "an object",
    "model_type": lambda _: "an object",
    "literal_error": _literal,
    "greater_than_equal": lambda context: f"{_number(context['ge'])} or more",
    "less_than_equal": lambda context: f"{_number(context['le'])} or less",
    "string_too_short": lambda context: f"at least {_characters(context['min_length'])}",
    "string_too_long": lambda context: f"at most {_characters(context['max_length'])}",
    "too_short": lambda context: f"at least {_entries(context['min_length'])}",
    "too_long": lambda context: f"at most {_entries(context['max_length'])}",
    "string_pattern_mismatch": lambda context: PATTERNS[context["pattern"]],
    "union_tag_invalid": lambda context: f"one of {context['expected_tags']}",
    "union_tag_not_found": lambda _: "a value; it tells which kind of object this is",
}


@dataclass(frozen=True)
class Wording:
    """One finding in words: where in the file, what stands there, the rule, what to do."""

    location: Location
    found: object
    allowed: str
    next_step: str

    @property
    def field(self) -> str:
        """The place as people write it."""
        return field_path(self.location)


def in_words(
    entries: list[ErrorDetails], document: Mapping[str, object], model: type[Contract]
) -> list[Wording]:
    """Tell pydantic's findings about a document, those at one place as one.

    Args:
        entries: ``ValidationError.errors()``.
        document: The document that was read, as Python holds it.
        model: The contract that it was read as.

    Returns:
        One wording per place and kind, in the order of the entries.
    """
    told: dict[tuple[Location, str], Wording] = {}  # by place, and by what was found there
    for entry in entries:
        if _is_echo(entry):
            continue
        for wording in _wordings(entry, document, model):
            key = (wording.location, repr(wording.found))
            earlier = told.get(key)
            told[key] = wording if earlier is None else _either(earlier, wording)
    return list(told.values())


def _is_echo(entry: ErrorDetails) -> bool:
    """Whether pydantic counts an array as too short only because entries in it were refused."""
    least = entry.get("ctx", {}).get("min_length", 0)
    return entry["type"] == "too_short" and len(entry["input"]) >= least


def _either(one: Wording, other: Wording) -> Wording:
    allowed = f"{one.allowed}, or {other.allowed}"
    return Wording(one.location, one.found, allowed, one.next_step)


def _wordings(
    entry: ErrorDetails, document: Mapping[str, object], model: type[Contract]
) -> list[Wording]:
    kind, context = entry["type"], entry.get("ctx", {})
    location = _place(entry["loc"], document, is_missing=kind == "missing")
    relation = context.get("error")
    if isinstance(relation, RelationError):
        return [
            Wording((*location, *one.location), _as_json(one.found), one.allowed, _CORRECT)
            for one in relation.broken
        ]
    if kind == "extra_forbidden":
        return [_unknown_field(location, entry["input"], _names(model, entry["loc"]))]
    found = InWords("nothing") if kind == "missing" else _as_json(entry["input"])
    if kind.startswith("union_tag"):
        tag = str(context["discriminator"]).strip("'")
        location = (*location, tag)
        found = _as_json(entry["input"][tag]) if tag in entry["input"] else InWords("nothing")
    return [Wording(location, found, _allowed(entry), _next_step(found))]


_CORRECT = "correct the value; `benchlib schema` prints the contract"


def _next_step(found: object) -> str:
    return "add the field" if found == InWords("nothing") else _CORRECT


def _allowed(entry: ErrorDetails) -> str:
    rule = _RULES.get(entry["type"])
    return rule(entry.get("ctx", {})) if rule else entry["msg"].removeprefix("Value error, ")


def _as_json(value: object) -> object:
    """Show what is no text as the file has it: ``true`` and ``null``, not ``True`` and ``None``."""
    return value if isinstance(value, str) else InWords(json.dumps(value, ensure_ascii=False))


def _place(location: Location, document: object, *, is_missing: bool) -> Location:
    """Leave out what only pydantic sees: the branch of a union, the mark of a key."""
    path: list[int | str] = []
    here = document
    for number, part in enumerate(location, 1):
        if (isinstance(here, dict) and part in here) or (
            isinstance(here, list) and isinstance(part, int) and part < len(here)
        ):
            here = here[part]  # type: ignore[index]  # the line above asked for just that
            path.append(part)
        elif is_missing and number == len(location):
            path.append(part)
    return tuple(path)


def _unknown_field(location: Location, value: object, names: list[str]) -> Wording:
    name = str(location[-1])
    near = difflib.get_close_matches(name, names, n=1)
    next_step = f"write {near[0]!r}, or remove the field" if near else "remove the field"
    return Wording(location, _as_json(value), f"only the fields {', '.join(names)}", next_step)


def _names(model: type[Contract], location: Location) -> list[str]:
    """Return the fields that may stand where an unknown one was found."""
    models = {model}
    for part in location[:-1]:
        below = [
            field.annotation
            for each in models
            for name, field in each.model_fields.items()
            if part in {name, field.alias}
        ]
        models = {found for annotation in below for found in models_in(annotation)} or models
    return sorted(
        {field.alias or name for each in models for name, field in each.model_fields.items()}
    )


def models_in(annotation: object) -> set[type[Contract]]:
    """Return the contracts that an annotation names, however deep inside arrays and unions."""
    if isinstance(annotation, type) and issubclass(annotation, Contract):
        return {annotation}
    return {found for part in get_args(annotation) for found in models_in(part)}


_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")


def field_path(location: Location) -> str:
    """Return a field's place as people write it.

    Example:
        >>> field_path(("arms", 1, "environment", "cpus"))
        'arms[1].environment.cpus'
        >>> field_path(("counts", "a.b"))
        'counts["a.b"]'
    """
    text = ""
    for part in location:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if _PLAIN_KEY.fullmatch(part) else f"[{json.dumps(part)}]"
    return text.removeprefix(".")
