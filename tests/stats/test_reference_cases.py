from __future__ import annotations

import pytest
from stats.reference_cases import CASES, Case, distance, is_exactly, read_cases

from benchlib import stats
from benchlib.errors import InputError

ALL = read_cases()
VALUES = [case for case in ALL if case.error is None]
REFUSALS = [case for case in ALL if case.error is not None]


def ids(case: Case) -> str:
    return case.id


def test_the_case_file_is_whole() -> None:
    assert (len(ALL), len(REFUSALS)) == (240, 20)


def test_the_case_file_is_the_shared_one_where_that_is_at_hand() -> None:
    shared = CASES.parents[4] / "shared" / "reference" / CASES.name
    assert not shared.exists() or shared.read_bytes() == CASES.read_bytes()


@pytest.mark.parametrize("case", VALUES, ids=ids)
def test_a_value_is_the_reference_to_its_stated_precision(case: Case) -> None:
    fields = case.fields()
    assert {
        name: d for name in fields if (d := distance(fields[name], case.expect[name])) > case.tol
    } == {}


# A limit is a root, a float by definition: one such as 1/40 is met to its tolerance above.
@pytest.mark.parametrize("case", [case for case in VALUES if case.exact], ids=ids)
def test_a_rational_value_is_the_reference_fraction_exactly(case: Case) -> None:
    fields = case.fields()
    rational = {name for name in case.exact if not isinstance(fields[name], float)}
    assert {name for name in rational if not is_exactly(fields[name], case.exact[name])} == set()


@pytest.mark.parametrize("case", REFUSALS, ids=ids)
def test_a_refusal_names_the_argument(case: Case) -> None:
    assert case.error is not None
    with pytest.raises(InputError) as caught:
        case.call()
    assert caught.value.field.split("[")[0] == case.argument(case.error)
    assert case.error in str(caught.value)


PUBLISHED = [case for case in VALUES if case.published]


@pytest.mark.parametrize("case", PUBLISHED, ids=ids)
def test_a_published_figure_is_met_as_printed(case: Case) -> None:
    fields = case.fields()
    for name, text in case.published.items():
        digits = len(text.partition(".")[2])
        assert stats.print_value(fields[name], digits) == text
