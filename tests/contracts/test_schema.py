"""What `benchlib schema` prints: valid JSON Schema that takes what the reader takes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import contracts

from benchlib.contracts import CONTRACTS, Contract
from benchlib.contracts._wording import PATTERNS
from benchlib.contracts.schema import field_comments, schema_text
from benchlib.errors import InputError

EXAMPLES = Path(__file__).parent / "examples"
every_name = pytest.mark.parametrize("name", CONTRACTS)


def schema(name: str) -> dict[str, Any]:
    return json.loads(schema_text(name))  # type: ignore[no-any-return]


@every_name
def test_a_schema_is_valid_and_takes_the_example(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schema(name))
    document = json.loads((EXAMPLES / f"{name}.json").read_bytes())
    jsonschema.validate(document, schema(name), jsonschema.Draft202012Validator)


@every_name
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_schema_takes_whatever_the_contract_holds(name: str, data: st.DataObject) -> None:
    drawn: Contract = data.draw(contracts(CONTRACTS[name]))
    validator = jsonschema.Draft202012Validator(schema(name))
    assert validator.is_valid(json.loads(drawn.canonical()))


@every_name
def test_a_schema_refuses_an_unknown_field(name: str) -> None:
    document = json.loads((EXAMPLES / f"{name}.json").read_bytes()) | {"note": 1}
    assert not jsonschema.Draft202012Validator(schema(name)).is_valid(document)


def test_all_schemas_are_one_object_by_name() -> None:
    assert json.loads(schema_text(None)) == {name: schema(name) for name in CONTRACTS}


def test_an_unknown_name_is_told_with_the_names_that_exist_the_nearest_first() -> None:
    with pytest.raises(InputError) as caught:
        schema_text("pair-reciept")
    error = caught.value
    assert (error.field, error.found) == ("CONTRACT", "'pair-reciept'")
    names = error.allowed.removeprefix("one of ").split(", ")
    assert names[0] == "pair-receipt"
    assert set(names) == set(CONTRACTS)
    assert error.next_step == "write pair-receipt, or no name for all"


def test_comments_and_docstrings_of_fields_are_their_descriptions() -> None:
    properties = schema("challenge")["properties"]
    assert properties["agent_timeout_seconds"]["description"] == "per step"
    assert properties["answer_phrases"]["description"].startswith("Sentences or values")


def test_a_field_with_an_alias_is_described_under_the_name_that_files_have() -> None:
    state = schema("provisioner-snapshot-response")["$defs"]["State"]["properties"]
    assert "schema" in state
    assert "schema_" not in state


def test_a_comment_over_several_lines_is_told_once() -> None:
    class Sample(Contract):
        first: int  # about the first
        second: int
        """About the second."""
        third: tuple[int, ...]  # about the third

    assert field_comments(Sample) == {
        "first": "about the first",
        "second": "About the second.",
        "third": "about the third",
    }


def _patterns(value: Any) -> set[str]:  # noqa: ANN401 - any JSON
    if isinstance(value, dict):
        own = {value["pattern"]} if isinstance(value.get("pattern"), str) else set()
        return own.union(*map(_patterns, value.values()))
    return set().union(*map(_patterns, value)) if isinstance(value, list) else set()


def test_every_pattern_of_a_contract_has_words_and_no_words_are_left_over() -> None:
    everywhere = [*map(json.loads, map(schema_text, CONTRACTS)), *_inner_schemas()]
    assert set().union(*map(_patterns, everywhere)) == set(PATTERNS)


def _inner_schemas() -> Iterator[dict[str, Any]]:
    """Contracts that no file holds by themselves, such as a cost that is only shown."""
    for part in Contract.__subclasses__():
        if part.__module__.startswith("benchlib."):
            yield part.model_json_schema()


def test_every_pattern_is_anchored_and_ascii() -> None:
    for pattern in PATTERNS:
        assert pattern.startswith("^")
        assert pattern.endswith("$")
        assert "\\d" not in pattern  # takes the digits of every script
        assert "\\w" not in pattern
