from __future__ import annotations

from stats.reference_cases import read_cases
from stats.statistics_page import BLOCKS, DEFINITIONS, PAGE, agrees, block, cases_table

from benchlib import stats


def test_the_page_states_the_cases_that_agree() -> None:
    found = block("cases").search(PAGE.read_text(encoding="utf-8"))
    assert found is not None
    assert found[2] == cases_table()


def test_every_procedure_of_the_cases_has_a_row() -> None:
    cases = read_cases()
    assert {case.procedure for case in cases} == set(DEFINITIONS)
    assert set(DEFINITIONS) <= set(stats.__all__)
    assert all(agrees(case) for case in cases if case.error is None)


def test_the_other_tables_were_measured() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name in BLOCKS:
        found = block(name).search(text)
        assert found is not None
        assert found[2].count("\n") > 5


def test_128_cases_have_an_outside_referee() -> None:
    assert sum(bool(case.outside_referees) for case in read_cases() if case.error is None) == 128
