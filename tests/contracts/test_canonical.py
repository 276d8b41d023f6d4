"""Canonical bytes: every contract comes back as it went, and its digest depends on nothing else."""

from __future__ import annotations

import hashlib
import json
import random
from typing import Any

import pytest
import rfc8785
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from strategies import contracts, json_values

from benchlib.contracts import CONTRACTS, Contract
from benchlib.contracts.pair import PremiseReport
from benchlib.contracts.provisioner import StateItem
from benchlib.contracts.reading import parse, read
from benchlib.contracts.trajectory import Trajectory
from benchlib.errors import InputError

every_contract = pytest.mark.parametrize("model", CONTRACTS.values(), ids=CONTRACTS)


@every_contract
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],  # a pair's receipt has a hundred fields
)
@given(data=st.data(), chance=st.randoms(use_true_random=False))
def test_what_was_written_is_read_back_equal_in_any_dress(
    model: type[Contract], data: st.DataObject, chance: random.Random
) -> None:
    drawn = data.draw(contracts(model))
    written = drawn.canonical()
    assert read(model, written, "canonical.json") == drawn
    assert rfc8785.dumps(json.loads(written)) == written  # a fixed point of RFC 8785
    source = json.dumps(
        _shuffled(json.loads(written), chance),
        indent=chance.choice([None, 0, 2, "\t"]),
        ensure_ascii=chance.random() < 0.5,
    )
    again = read(model, f" \r\n{source}\n".encode(), "source.json")
    assert again.canonical_sha256() == drawn.canonical_sha256()


def _shuffled(value: Any, chance: random.Random) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, dict):
        items = [(key, _shuffled(each, chance)) for key, each in value.items()]
        chance.shuffle(items)
        return dict(items)
    return [_shuffled(each, chance) for each in value] if isinstance(value, list) else value


@given(st.dictionaries(st.text(max_size=6), json_values(), max_size=4))
def test_the_reader_agrees_with_an_ordinary_parser_on_good_json(document: dict[str, Any]) -> None:
    assert parse(rfc8785.dumps(document)) == json.loads(rfc8785.dumps(document))


def test_a_digest_is_the_sha256_of_the_canonical_bytes() -> None:
    item = StateItem(id="n-1", text="größer\n\u20ac")
    assert item.canonical() == '{"id":"n-1","text":"größer\\n€"}'.encode()
    assert item.canonical_sha256() == hashlib.sha256(item.canonical()).hexdigest()


def test_keys_are_sorted_by_utf_16_as_the_standard_says() -> None:
    # In code points U+FB33 comes before U+1F600; in UTF-16 the surrogate pair comes first.
    extra = {"\ufb33": 1, "\U0001f600": 2, "a": 3}
    agent = {"name": "a", "version": "1", "extra": extra}
    steps = [{"step_id": 1, "source": "user", "message": "m"}]
    source = json.dumps({"agent": agent, "steps": steps}).encode()
    written = read(Trajectory, source, "t.json").canonical().decode()
    assert written.index('"a":3') < written.index("\U0001f600") < written.index("\ufb33")


def test_what_has_no_canonical_form_is_an_input_error_not_a_crash() -> None:
    # In memory only: no file that was read can hold half a pair of surrogates.
    report = PremiseReport(compared=("half a pair: \ud83d",), differences=())
    with pytest.raises(InputError) as caught:
        report.canonical()
    assert caught.value.place == "PremiseReport"


@every_contract
def test_a_contract_is_frozen_and_closed(model: type[Contract]) -> None:
    config = model.model_config
    assert (config["frozen"], config["strict"], config["extra"]) == (True, True, "forbid")
    assert config["allow_inf_nan"] is False


def test_an_instance_can_not_be_changed() -> None:
    item = StateItem(id="n-1", text="")
    with pytest.raises(ValidationError):
        item.id = "n-2"  # type: ignore[misc]  # that is the point
