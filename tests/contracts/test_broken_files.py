"""Every contract that lies in a file, broken in more than ten ways: one clear report each time."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchlib.contracts import CONTRACTS
from benchlib.contracts.reading import field_path, read, read_file
from benchlib.errors import InputError

EXAMPLES = Path(__file__).parent / "examples"
Place = tuple[str | int, ...]

# Below these, a trajectory holds JSON of others: anything goes.
FOREIGN = {"arguments", "tool_definitions", "foreign", "harness"}
JARGON = re.compile(r"Input should|Value error|\bpattern '|\^|[Tt]uple|\bdict|NoneType|Extra")


def example(name: str) -> dict[str, Any]:
    return json.loads((EXAMPLES / f"{name}.json").read_bytes())  # type: ignore[no-any-return]


def places(value: Any, at: Place = ()) -> Iterator[tuple[Place, Any]]:  # noqa: ANN401 - any JSON
    if at and at[-1] in FOREIGN:
        return
    if at:
        yield at, value
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, each in items:
        yield from places(each, (*at, key))


def changed(document: dict[str, Any], at: Place, value: object) -> bytes:
    document = copy.deepcopy(document)
    here: Any = document
    for part in at[:-1]:
        here = here[part]
    here[at[-1]] = value
    return json.dumps(document).encode()


def compact(document: dict[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


# -- the ways: each gives bytes and the field that the report must name ---------------------------


def _whole_file(document: dict[str, Any]) -> Iterator[tuple[str, bytes, str]]:
    good = compact(document)
    first = next(iter(document))
    key = b'"%s":' % first.encode()
    yield "cut in half", good[: len(good) // 2], "line 1"
    yield "empty", b"", ""
    yield "byte order mark", b"\xef\xbb\xbf" + good, ""
    yield "another encoding", good.decode().encode("utf-16"), ""
    yield "no UTF-8", good.replace(key, key + b'"\xff",' + key, 1), "byte"
    yield "written twice", good + good, "line 1"
    yield "inside an array", b"[" + good + b"]", ""
    yield "first key twice", good.replace(key, key + b"null," + key, 1), first
    yield "not a number", b'{"x":NaN,' + good[1:], "x"
    yield "beyond every double", b'{"x":1e999,' + good[1:], "x"
    yield "beyond every integer", b'{"x":9007199254740993,' + good[1:], "x"
    yield "half a surrogate pair", b'{"x":"\\ud83d",' + good[1:], "x"
    yield "too deep", b'{"x":' + b"[" * 40 + b"]" * 40 + b"," + good[1:], "line 1"
    yield "a field too many", b'{"note":"mine",' + good[1:], "note"


def _fields(document: dict[str, Any]) -> Iterator[tuple[str, bytes, str]]:
    for at, value in places(document):
        wrong = "text" if isinstance(value, dict) or at[-1] == "extra" else {"unexpected": []}
        yield f"{field_path(at)} of another kind", changed(document, at, wrong), field_path(at)
        if isinstance(value, str):
            yield f"{field_path(at)} as a number", changed(document, at, 1), field_path(at)
        if type(value) is int:
            for other in (float(value), str(value), -(2**53) + 1):
                if not (other == -(2**53) + 1 and _may_be_negative(at)):
                    yield (
                        f"{field_path(at)} {other!r}",
                        changed(document, at, other),
                        field_path(at),
                    )
        if type(value) is bool:
            yield f"{field_path(at)} as 1", changed(document, at, int(value)), field_path(at)
        if isinstance(value, dict) and not _has_free_keys(at):
            inner = (*at, "note")
            yield f"{field_path(inner)} added", changed(document, inner, None), field_path(inner)


def _may_be_negative(at: Place) -> bool:
    return at[-1] in {"exit_status", "score"}


def _has_free_keys(at: Place) -> bool:
    """Objects whose keys are names: what is not a value of theirs is told elsewhere."""
    return at[-1] in {"counts", "probes", "extra"}


def ways(name: str) -> list[tuple[str, bytes, str]]:
    document = example(name)
    return [*_whole_file(document), *_fields(document)]


@pytest.mark.parametrize("name", CONTRACTS)
def test_each_contract_is_broken_in_more_than_ten_ways(name: str) -> None:
    assert len({way for way, _, _ in ways(name)}) >= 15


@pytest.mark.parametrize("name", CONTRACTS)
def test_a_broken_file_gets_a_report_of_five_parts(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.json"
    for way, data, field in ways(name):
        path.write_bytes(data)
        with pytest.raises(InputError) as caught:
            pytest.fail(f"{way}: read as {read_file(CONTRACTS[name], path)}")
        _is_clear(caught.value, str(path), field, way)
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def _is_clear(error: InputError, path: str, field: str, way: str) -> None:
    parts = error.parts()
    assert error.exit_status == 2
    assert any(part["field"].startswith(field) for part in parts), (way, field, parts)
    for part in parts:
        assert part["place"] == path, way
        assert all(part[name] for name in ("found", "allowed", "next")), (way, part)
        assert not JARGON.search(part["allowed"]), (way, part)
    assert len(parts) <= 3, (way, parts)  # one fault, not a shower


@pytest.mark.parametrize("name", CONTRACTS)
def test_a_required_field_that_is_left_out_is_named(name: str) -> None:
    model = CONTRACTS[name]
    document = example(name)
    required = [each for each, info in model.model_fields.items() if info.is_required()]
    for field in required:
        rest = {key: value for key, value in document.items() if key != field}
        with pytest.raises(InputError) as caught:
            read_bytes_of(name, rest)
        error = caught.value
        assert (error.field, error.found, error.next_step) == (field, "nothing", "add the field")
        assert not error.also


def read_bytes_of(name: str, document: dict[str, Any]) -> object:
    return read(CONTRACTS[name], compact(document), f"{name}.json")
