from __future__ import annotations

import dataclasses
import json

import pytest
from stats.reference_cases import Case, read_cases
from stats.result_bytes import cohort, is_dear

from benchlib import stats
from benchlib.errors import InputError
from benchlib.stats.result import Result

CASES = [
    case
    for case in read_cases()
    if case.error is None and case.procedure != "print_value" and not is_dear(case)
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_result_re_computes_from_its_own_inputs(case: Case) -> None:
    result = case.call()
    assert isinstance(result, Result)
    named = dict(result.inputs)
    first = [named.pop(name) for name in list(named) if case._is_positional(name)]
    again = getattr(stats, result.procedure)(*first, **named)
    assert again == result
    assert hash(again) == hash(result)
    assert again.canonical_json() == result.canonical_json()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_result_is_frozen_and_reads_as_one_sentence(case: Case) -> None:
    result = case.call()
    assert isinstance(result, Result)
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.p = 0  # type: ignore[misc]  # that it can't be is the point
    assert result.reading.endswith(".")
    assert "\n" not in result.reading
    assert result.procedure == case.procedure


def test_canonical_json_is_sorted_and_exact() -> None:
    text = stats.mcnemar_test(gained=9, lost=1).canonical_json()
    read = json.loads(text)
    assert text == json.dumps(read, sort_keys=True, separators=(",", ":"))
    assert read["p"] == "11/512"
    assert read["gained"] == 9


def test_a_fraction_of_ten_thousand_digits_has_a_text() -> None:
    text = stats.mcnemar_test(gained=20_000, lost=19_500).canonical_json()
    assert len(json.loads(text)["p"]) > 10_000


def test_the_canonical_text_of_a_summary_can_be_read() -> None:
    read = json.loads(cohort().canonical_json())
    assert [line["endpoint"] for line in read["lines"]] == ["solved", "tokens"]


def test_every_public_name_stands_in_the_list_of_them() -> None:
    public = {name for name in vars(stats) if not name.startswith("_") and name != "annotations"}
    modules = {name for name in public if type(getattr(stats, name)).__name__ == "module"}
    assert public - modules == set(stats.__all__)
    assert list(stats.__all__) == sorted(stats.__all__)


def test_a_refusal_is_a_value_error_too() -> None:
    with pytest.raises(ValueError, match="gained") as caught:
        stats.mcnemar_test(gained=-1, lost=0)
    assert isinstance(caught.value, InputError)
