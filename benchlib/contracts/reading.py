"""The one strict reader: bytes to a contract, or one report of all that is wrong.

Refused before a model sees the bytes: a BOM, bytes that are no UTF-8, lone
surrogates, duplicate keys at any depth, NaN and infinities, an integer written
as ``1.0`` or ``1e0`` or beyond 2^53 - 1, more than 32 levels, data after the
value, a top level that is no object. Nobody calls ``model_validate`` elsewhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from benchlib.contracts.base import LARGEST_INTEGER, Contract
from benchlib.errors import InputError, VersionError

Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]
"""JSON as Python holds it, for readers of foreign documents."""

DEEPEST = 32
LARGEST_FILE_BYTES = 64 * 1024 * 1024

_ContractT = TypeVar("_ContractT", bound=Contract)


class StrictJsonError(ValueError):
    """A document breaks a rule of strict JSON.

    Args:
        reason: The reason code, as in the provisioner protocol: ``not-utf8``, ``not-json``,
            ``not-an-object``, ``trailing-data``, ``duplicate-key``, ``non-finite-number``
            or ``wrong-type``.
        detail: What was found and where, in words.
    """

    def __init__(self, reason: str, detail: str) -> None:
        self.reason = reason
        self.detail = detail
        super().__init__(f"{reason}: {detail}")


def parse(data: bytes) -> dict[str, Json]:
    """Parse strict JSON whose top level is an object.

    Args:
        data: The bytes of exactly one object; white space around it is allowed.

    Returns:
        The object. Numbers that were written as integers are int, others float.

    Raises:
        StrictJsonError: A rule of the module's docstring is broken.
    """
    text = _decode(data)
    _refuse_depth(text)
    try:
        value, end = _DECODER.raw_decode(text, _skip_blanks(text, 0))
    except json.JSONDecodeError as error:
        raise StrictJsonError("not-json", f"{error.msg} at character {error.pos}") from error
    if _skip_blanks(text, end) != len(text):
        raise StrictJsonError("trailing-data", f"more data after the value, at character {end}")
    if not isinstance(value, dict):
        raise StrictJsonError("not-an-object", f"the top level is {_kind(value)}, not an object")
    return value


def read(model: type[_ContractT], data: bytes, place: str) -> _ContractT:
    """Read one contract from bytes.

    Args:
        model: The contract.
        data: One JSON object.
        place: The name of the file or channel, for messages.

    Returns:
        The contract.

    Raises:
        VersionError: ``schema_version`` is one that this release does not know.
        InputError: Anything else is wrong; all findings stand in one report.
    """
    try:
        document = parse(data)
    except StrictJsonError as error:
        raise InputError(
            place,
            found=error.detail,
            allowed=_RULES[error.reason],
            next_step="write the file as strict JSON",
        ) from error
    _refuse_version(model, document, place)
    try:
        return model.model_validate_json(data.strip())
    except ValidationError as error:
        raise _report(error, place) from error


def read_file(model: type[_ContractT], path: Path, place: str | None = None) -> _ContractT:
    """Read one contract from a file.

    Args:
        model: The contract.
        path: The file, at most 64 MiB.
        place: Its name in messages; the path itself by default.

    Returns:
        The contract.

    Raises:
        InputError: The file is absent, no file, too large, or wrong in any other way.
    """
    return read(model, read_bytes(path, place), place or str(path))


def read_bytes(path: Path, place: str | None = None) -> bytes:
    """Read a file of bounded size; its absence is an ``InputError`` that names it."""
    name = place or str(path)
    try:
        size = path.stat().st_size
        if not path.is_file() or size > LARGEST_FILE_BYTES:
            raise InputError(
                name,
                found=f"{size} bytes" if path.is_file() else "no regular file",
                allowed=f"a regular file of at most {LARGEST_FILE_BYTES} bytes",
                next_step="name another file",
            )
        return path.read_bytes()
    except OSError as error:
        raise InputError(
            name,
            found=error.strerror or str(error),
            allowed="a file that can be read",
            next_step="check the path and its permissions",
        ) from error


_RULES: Mapping[str, str] = {
    "not-utf8": "UTF-8 without a byte order mark or lone surrogates",
    "not-json": f"one JSON object, at most {DEEPEST} levels deep",
    "not-an-object": "one JSON object",
    "trailing-data": "exactly one JSON object and nothing after it",
    "duplicate-key": "each key of an object once",
    "non-finite-number": "finite numbers that a double can carry",
    "wrong-type": f"integers written without a fraction or exponent, up to {LARGEST_INTEGER}",
}


def _decode(data: bytes) -> str:
    if data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        raise StrictJsonError("not-utf8", "a byte order mark at the start")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise StrictJsonError("not-utf8", f"byte {error.start} is no UTF-8") from error


_STRINGS_AND_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', re.DOTALL)


def _refuse_depth(text: str) -> None:
    """Count brackets outside strings first: the parser would recurse as deep as the text says."""
    depth = 0
    for match in _STRINGS_AND_BRACKETS.finditer(text):
        mark = match.group()
        if mark in "[{":
            depth += 1
            if depth > DEEPEST:
                raise StrictJsonError("not-json", f"more than {DEEPEST} levels")
        elif mark in "]}":
            depth -= 1


def _skip_blanks(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\r\n":
        position += 1
    return position


def _pairs(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    result: dict[str, Json] = {}
    for key, value in pairs:
        if key in result:
            raise StrictJsonError("duplicate-key", f"the key {key!r} stands twice")
        for text in (key, value):
            if isinstance(text, str):
                _refuse_surrogates(text)
            elif isinstance(text, list):
                _refuse_surrogates_within(text)
        result[key] = value
    return result


def _refuse_surrogates_within(values: list[Json]) -> None:
    for value in values:
        if isinstance(value, str):
            _refuse_surrogates(value)
        elif isinstance(value, list):
            _refuse_surrogates_within(value)


def _refuse_surrogates(text: str) -> None:
    if any(0xD800 <= ord(character) <= 0xDFFF for character in text):
        raise StrictJsonError("not-utf8", "a lone surrogate in a string")


def _integer(text: str) -> int:
    if len(text) > 17 or abs(int(text)) > LARGEST_INTEGER:
        raise StrictJsonError("wrong-type", f"the integer {text[:40]} is beyond 2^53 - 1")
    return int(text)


def _float(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise StrictJsonError("non-finite-number", f"the number {text[:40]} is beyond a double")
    return value


def _constant(text: str) -> float:
    raise StrictJsonError("non-finite-number", f"{text} is not JSON")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_int=_integer, parse_float=_float, parse_constant=_constant
)


def _kind(value: Json) -> str:
    names = {"NoneType": "null", "list": "an array", "str": "a string", "bool": "a boolean"}
    return names.get(type(value).__name__, "a number")


def _refuse_version(model: type[Contract], document: dict[str, Json], place: str) -> None:
    if "schema_version" not in model.model_fields or "schema_version" not in document:
        return
    version = document["schema_version"]
    if isinstance(version, int) and not isinstance(version, bool) and version > 1:
        raise VersionError(
            place,
            "schema_version",
            found=version,
            allowed="1",
            next_step=f"read it with the release of benchlib that wrote version {version}",
        )


_MISSING = "missing"


def _report(error: ValidationError, place: str) -> InputError:
    """Turn all findings of pydantic into one error, each with its field path."""
    findings = [
        InputError(
            place,
            field_path(entry["loc"]),
            found=_MISSING if entry["type"] == "missing" else entry["input"],
            allowed=entry["msg"].removeprefix("Value error, "),
            next_step=_next_step(entry["type"]),
        )
        for entry in error.errors(include_url=False)
    ]
    first, *others = findings
    first.also = tuple(others)
    return first


def _next_step(kind: str) -> str:
    if kind == "missing":
        return "add the field"
    if kind == "extra_forbidden":
        return "remove the field; `benchlib schema` prints the fields that exist"
    return "correct the value; `benchlib schema` prints the contract"


def field_path(location: tuple[int | str, ...]) -> str:
    """Return a field's place as people write it.

    Example:
        >>> field_path(("arms", 1, "environment", "cpus"))
        'arms[1].environment.cpus'
    """
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")
