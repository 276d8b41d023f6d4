"""Parameters are checked before a kernel starts: papermill would run on with a wrong one."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlib.analysis.declarations import Parameter, ParameterRule
from benchlib.analysis.parameters import (
    check_parameters,
    declared_parameters,
    parse_settings,
)
from benchlib.errors import InputError

DECLARED = (
    Parameter(name="cohort", type="path", default="demo"),
    Parameter(name="alpha_ppm", type="integer", minimum=1, maximum=500_000, default=50_000),
    Parameter(name="strict", type="boolean", default=True),
    Parameter(name="names", type="text-list", default=("a",)),
)


def check(**values: object) -> dict[str, Any]:
    return check_parameters("plan", DECLARED, values)


@pytest.mark.parametrize(
    ("name", "value", "word"),
    [
        ("alfa_ppm", 50_000, "alpha_ppm"),
        ("alpha_ppm", "50000", "a whole number"),
        ("alpha_ppm", True, "a whole number"),
        ("alpha_ppm", 0.05, "a whole number"),
        ("alpha_ppm", math.nan, "a whole number"),
        ("alpha_ppm", None, "a whole number"),
        ("alpha_ppm", 0, "1 to 500000"),
        ("alpha_ppm", 500_001, "1 to 500000"),
        ("strict", "False", "true or false"),
        ("strict", 1, "true or false"),
        ("cohort", "/etc/passwd", "a portable relative path"),
        ("cohort", "../x", "a portable relative path"),
        ("names", "a", "a list of texts"),
        ("names", [1], "a list of texts"),
    ],
)
def test_a_wrong_parameter_is_refused_with_its_rule(name: str, value: object, word: str) -> None:
    with pytest.raises(InputError) as refused:
        check(**{name: value})
    assert refused.value.field == f"parameter {name}"
    assert word in str(refused.value)


def test_the_name_that_was_meant_is_offered() -> None:
    with pytest.raises(InputError) as refused:
        check(alfa_ppm=1)
    assert refused.value.next_step == "write alpha_ppm"


def test_all_wrong_parameters_stand_in_one_report() -> None:
    with pytest.raises(InputError) as refused:
        check(alpha_ppm=0, strict=0, other=1)
    assert len(refused.value.parts()) == 3


def test_what_is_not_given_keeps_its_default() -> None:
    assert check(names=["b", "c"]) == {
        "cohort": "demo",
        "alpha_ppm": 50_000,
        "strict": True,
        "names": ("b", "c"),
    }


def test_settings_are_read_by_the_declared_type() -> None:
    settings = ["alpha_ppm=10000", "strict=false", 'names=["a", "b"]', "cohort=other/v2"]
    assert parse_settings("plan", DECLARED, settings) == {
        "cohort": "other/v2",
        "alpha_ppm": 10_000,
        "strict": False,
        "names": ("a", "b"),
    }


@pytest.mark.parametrize(
    "settings",
    [["alpha_ppm"], ["alpha_ppm=1", "alpha_ppm=2"], ["alpha_ppm=1e3"], ["strict=False"], ["x=1"]],
)
def test_a_setting_that_does_not_fit_is_refused(settings: list[str]) -> None:
    with pytest.raises(InputError):
        parse_settings("plan", DECLARED, settings)


@pytest.mark.parametrize(
    "source",
    [
        "alpha_ppm = 50000",
        "alpha_ppm: float = 0.05",
        "alpha_ppm: int = 50000.0",
        "alpha_ppm: int = None",
        "alpha_ppm: int = 50 * 1000",
        "alpha_ppm: int = True",
        "alpha_ppm: int",
        "names: tuple[str, ...] = ('a', 1)",
        "import os",
        "a: int = 1\na: int = 2",
        "def f(): pass",
        "Name: str = 'a'",
    ],
)
def test_the_parameters_cell_holds_typed_literals_only(source: str) -> None:
    _, findings = declared_parameters(source, ())
    assert findings


def test_a_default_out_of_its_bounds_is_found() -> None:
    rule = ParameterRule(name="alpha_ppm", minimum=1, maximum=10)
    _, findings = declared_parameters("alpha_ppm: int = 11", [rule])
    assert [one.allowed for one in findings] == ["1 to 10"]


def test_a_rule_for_no_parameter_is_found() -> None:
    _, findings = declared_parameters("a: int = 1", [ParameterRule(name="b")])
    assert [one.found for one in findings] == ["a rule for 'b'"]


@given(
    text=st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
    number=st.integers(-(2**53) + 1, 2**53 - 1),
    flag=st.booleans(),
    items=st.lists(st.integers(-9, 9), max_size=4).map(tuple),
)
def test_every_literal_of_a_declared_type_is_read_as_written(
    text: str, number: int, flag: bool, items: tuple[int, ...]
) -> None:
    source = (
        f"a: str = {text!r}\nb: int = {number}\nc: bool = {flag}\n"
        f"d: tuple[int, ...] = {items!r}  # a comment"
    )
    parameters, findings = declared_parameters(source, ())
    assert findings == ()
    assert [one.default for one in parameters] == [text, number, flag, items]
