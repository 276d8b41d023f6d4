"""The one strict reader: bytes to a contract, or one report of all that is wrong.

Refused before a model sees the bytes: a BOM, bytes that are no UTF-8, lone
surrogates, duplicate keys at any depth, NaN and infinities, an integer written
as ``1.0`` or ``1e0`` or beyond 2^53 - 1, a fraction with digits that a double
does not keep, more than 32 levels, data after the value, a top level that is no
object. Nobody calls ``model_validate`` elsewhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from benchlib.contracts._wording import Location, Wording, field_path, in_words
from benchlib.contracts.base import LARGEST_INTEGER, Contract
from benchlib.errors import InputError, InWords, VersionError

__all__ = [
    "DEEPEST",
    "LARGEST_FILE_BYTES",
    "Json",
    "StrictJsonError",
    "field_path",
    "parse",
    "read",
    "read_bytes",
    "read_file",
]

Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]
"""JSON as Python holds it, for readers of foreign documents."""

DEEPEST = 32
LARGEST_FILE_BYTES = 64 * 1024 * 1024

_LONGEST_NUMBER = 800  # characters; a double written out in full has at most 767 digits
_LARGEST_INTEGRAL = 1e21  # from here on RFC 8785 writes an exponent
_MOST_FINDINGS = 100  # of one file are told; a hostile one may hold a million

_ContractT = TypeVar("_ContractT", bound=Contract)


class StrictJsonError(ValueError):
    """A document breaks a rule of strict JSON.

    Args:
        reason: The reason code, as in the provisioner protocol: ``not-utf8``, ``not-json``,
            ``not-an-object``, ``trailing-data``, ``duplicate-key``, ``non-finite-number``
            or ``wrong-type``.
        found: What was found, in words.
        field: Where: the path of the field, or line and column; empty for the whole document.
    """

    def __init__(self, reason: str, found: str, field: str = "") -> None:
        self.reason = reason
        self.found = found
        self.field = field
        self.detail = f"{found}, at {field}" if field else found  # what and where, in words
        super().__init__(f"{reason}: {self.detail}")


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
    start = _skip_blanks(text, 0)
    if start == len(text):
        raise StrictJsonError("not-json", "nothing: no value stands here")
    try:
        value, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        message = error.msg.removesuffix(" at")
        raise StrictJsonError("not-json", message, _position(text, error.pos)) from error
    rest = _skip_blanks(text, end)
    if rest != len(text):
        found = f"more data after the value: {text[rest : rest + 20]!r}"
        raise StrictJsonError("trailing-data", found, _position(text, rest))
    fault = _fault_within(value)
    if fault:
        raise StrictJsonError(fault.reason, fault.found, field_path(fault.location))
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
            error.field,
            found=InWords(error.found),
            allowed=_RULES[error.reason],
            next_step="write the file as strict JSON",
        ) from error
    try:
        return model.model_validate_json(data.strip())
    except ValidationError as error:
        entries = error.errors(include_url=False)
        findings = in_words(entries[:_MOST_FINDINGS], document, model)
        version = _unknown_version(model, document, findings)
        untold = len(entries) - _MOST_FINDINGS
        report = _version_error(version, place) if version else _report(findings, untold, place)
        raise report from error


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
        if not path.is_file():
            path.stat()  # says why, where the name leads nowhere
            raise _unfit(name, "no regular file")
        with path.open("rb") as file:  # what is read counts: a size may be told wrong, or grow
            data = file.read(LARGEST_FILE_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        if isinstance(error, InputError):
            raise
        raise InputError(
            name,
            found=InWords(getattr(error, "strerror", None) or str(error)),
            allowed="a file that can be read",
            next_step="check the path and its permissions",
        ) from error
    if len(data) > LARGEST_FILE_BYTES:
        raise _unfit(name, f"more than {LARGEST_FILE_BYTES} bytes")
    return data


def _unfit(place: str, found: str) -> InputError:
    return InputError(
        place,
        found=InWords(found),
        allowed=f"a regular file of at most {LARGEST_FILE_BYTES} bytes",
        next_step="name another file",
    )


_RULES: Mapping[str, str] = {
    "not-utf8": "UTF-8 without a byte order mark or lone surrogates",
    "not-json": f"one JSON object, at most {DEEPEST} levels deep",
    "not-an-object": "one JSON object",
    "trailing-data": "exactly one JSON object and nothing after it",
    "duplicate-key": "each key of an object once",
    "non-finite-number": "finite numbers that a double can carry",
    "wrong-type": f"whole numbers up to {LARGEST_INTEGER}, fractions that a double keeps",
}


def _decode(data: bytes) -> str:
    if data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        raise StrictJsonError("not-utf8", "a byte order mark at the start")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        found = f"{data[error.start : error.start + 1]!r}, which is no UTF-8"
        raise StrictJsonError("not-utf8", found, f"byte {error.start}") from error


def _position(text: str, index: int) -> str:
    line_start = text.rfind("\n", 0, index) + 1
    return f"line {text.count(chr(10), 0, index) + 1}, column {index - line_start + 1}"


# Possessive, and a string that never ends counts as one to the end of the text: linear in time
# and without a stack, whatever the text.
_STRINGS_AND_BRACKETS = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)


def _refuse_depth(text: str) -> None:
    """Count brackets outside strings first: the parser would recurse as deep as the text says."""
    depth = 0
    for match in _STRINGS_AND_BRACKETS.finditer(text):
        mark = match.group()
        if mark in "[{":
            depth += 1
            if depth > DEEPEST:
                found = f"more than {DEEPEST} levels"
                raise StrictJsonError("not-json", found, _position(text, match.start()))
        elif mark in "]}":
            depth -= 1


def _skip_blanks(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\r\n":
        position += 1
    return position


class _Fault:
    """A broken rule on its way up; each level adds its part of the place."""

    def __init__(self, reason: str, found: str) -> None:
        self.reason = reason
        self.found = found
        self.location: Location = ()

    def below(self, part: int | str) -> _Fault:
        self.location = (part, *self.location)
        return self


def _pairs(pairs: list[tuple[str, Json | _Fault]]) -> dict[str, Json] | _Fault:
    result: dict[str, Json] = {}
    for key, value in pairs:
        if key in result:
            return _Fault("duplicate-key", f"the key {key!r} stands twice").below(key)
        fault = _fault_within(key) or _fault_within(value)
        if fault:
            return fault.below(key)
        result[key] = value  # type: ignore[assignment]  # a fault returned above
    return result


_SURROGATE = re.compile("[\ud800-\udfff]")


def _fault_within(value: Json | _Fault) -> _Fault | None:
    """Find the fault in a value; objects inside had their turn when they were made."""
    if isinstance(value, _Fault):
        return value
    if isinstance(value, str) and _SURROGATE.search(value):
        return _Fault("not-utf8", "a lone surrogate in a string")
    if isinstance(value, list):
        for index, each in enumerate(value):
            fault = _fault_within(each)
            if fault:
                return fault.below(index)
    return None


def _integer(text: str) -> int | _Fault:
    if len(text) > 17 or abs(int(text)) > LARGEST_INTEGER:
        return _Fault("wrong-type", f"the integer {text[:40]}, beyond 2^53 - 1")
    return int(text)


def _float(text: str) -> float | _Fault:
    value = float(text)
    if value in {float("inf"), float("-inf")}:
        return _Fault("non-finite-number", f"the number {text[:40]}, beyond a double")
    if LARGEST_INTEGER < abs(value) < _LARGEST_INTEGRAL:  # canonical form writes an integer
        return _Fault("wrong-type", f"the number {text[:40]}, beyond 2^53 - 1")
    if repr(value) != text and not _keeps(value, text):
        return _Fault("wrong-type", f"the number {text[:40]}, of which a double keeps {value!r}")
    return value


def _keeps(value: float, text: str) -> bool:
    """Whether a double is the number that was written, to half a unit of its last digit."""
    if len(text) > _LONGEST_NUMBER:
        return False
    if not value:  # asked of the text, for the exponent may be a billion
        return not any(digit in "123456789" for digit in text.lower().split("e")[0])
    written = Decimal(text).normalize(Context(prec=_LONGEST_NUMBER))
    last_digit = Fraction(10) ** int(written.as_tuple().exponent)
    return 2 * abs(Fraction(value) - Fraction(written)) <= last_digit


def _constant(text: str) -> _Fault:
    return _Fault("non-finite-number", f"{text}, which is not JSON")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_pairs,
    parse_int=_integer,
    parse_float=_float,
    parse_constant=_constant,
)


def _kind(value: Json) -> str:
    names = {"NoneType": "null", "list": "an array", "str": "a string", "bool": "a boolean"}
    return names.get(type(value).__name__, "a number")


_VERSION = re.compile(r"[A-Za-z-]*[0-9]+(\.[0-9]+)*")


def _unknown_version(
    model: type[Contract], document: Mapping[str, Json], findings: list[Wording]
) -> Wording | None:
    """Return the finding about a version that is well written and yet not known."""
    wrong = next((one for one in findings if one.location == ("schema_version",)), None)
    if wrong is None:
        return None
    version, known = document["schema_version"], model.model_fields["schema_version"].default
    is_version = type(version) is type(known) and _VERSION.fullmatch(str(version))
    return wrong if is_version else None


def _version_error(wrong: Wording, place: str) -> VersionError:
    """Tell an unknown version alone: what else seems wrong may be right in that version."""
    return VersionError(
        place,
        wrong.field,
        found=wrong.found,
        allowed=wrong.allowed.removesuffix(" or less").removesuffix(" or more"),
        next_step=f"read it with the release of benchlib that wrote version {wrong.found}",
    )


def _report(findings: list[Wording], untold: int, place: str) -> InputError:
    """Make one error of all findings, each with its field path."""
    told = [
        InputError(place, one.field, found=one.found, allowed=one.allowed, next_step=one.next_step)
        for one in findings
    ]
    if untold > 0:
        rest = InWords(f"{untold} findings more")
        told.append(
            InputError(place, found=rest, allowed="none", next_step="correct those above first")
        )
    first, *others = told
    first.also = tuple(others)
    return first
