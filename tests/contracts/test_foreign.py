"""JSON that others wrote: held so that it can be read back, or refused when it is built."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from benchlib.contracts import Trajectory
from benchlib.contracts.foreign import DEEPEST_FOREIGN, as_foreign
from benchlib.contracts.reading import read
from benchlib.contracts.trajectory import (
    Extra,
    Observation,
    ObservationResult,
    Step,
    ToolCall,
    TrajectoryAgent,
)


def trajectory(value: Any, depth_of_all: bool = True) -> Trajectory:  # noqa: ANN401 - any JSON
    """Put a value into every place where a trajectory holds foreign JSON."""
    call = ToolCall(tool_call_id="c", function_name="f", arguments={"x": as_foreign(value)})
    extra = Extra(foreign=as_foreign(value))
    result = ObservationResult(source_call_id="c", content="", extra=extra)
    step = Step(
        step_id=1,
        source="agent",
        message="",
        tool_calls=(call,),
        observation=Observation(results=(result,)),
        extra=extra,
    )
    agent = TrajectoryAgent(name="a", version="1", extra=extra)
    return Trajectory(agent=agent, steps=(step,), extra=extra if depth_of_all else None)


def nested(levels: int) -> Any:  # noqa: ANN401 - any JSON
    value: Any = 1
    for level in range(levels):
        value = [value] if level % 2 else {"k": value}
    return value


def wild() -> st.SearchStrategy[Any]:
    """What a lenient parser returns for JSON that no strict one takes."""
    text = st.text(st.characters(), max_size=6)  # lone surrogates too
    leaves = st.none() | st.booleans() | st.integers() | st.floats() | text
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
        max_leaves=8,
    )


@given(wild())
def test_whatever_an_agent_wrote_can_be_written_and_read_back(value: Any) -> None:  # noqa: ANN401
    held = trajectory(value)
    assert read(Trajectory, held.canonical(), "trajectory.json") == held


@given(wild())
def test_fitting_twice_is_fitting_once(value: Any) -> None:  # noqa: ANN401 - any JSON
    assert as_foreign(as_foreign(value)) == as_foreign(value)


@pytest.mark.parametrize("levels", [1, DEEPEST_FOREIGN - 1, DEEPEST_FOREIGN, 30, 100, 900])
def test_depth_is_cut_so_that_the_reader_takes_it(levels: int) -> None:
    held = trajectory(nested(levels))
    assert read(Trajectory, held.canonical(), "trajectory.json") == held


def test_what_fits_is_left_as_it_is() -> None:
    value = {"a": [1, 2.5, True, None, "ü"], "b": {"c": -(2**53) + 1}, "d": 1e300}
    assert as_foreign(value) == value


@pytest.mark.parametrize(
    ("value", "held"),
    [
        (2**63, "9223372036854775808"),
        (-(2**53), "-9007199254740992"),
        (1e17, "1e+17"),
        (float("inf"), "inf"),
        ("\ud83d", "\\ud83d"),
        ({"\udc00": 1}, {"\\udc00": 1}),
        ((1, 2), [1, 2]),
        ({1: b"x"}, {"1": "b'x'"}),
    ],
)
def test_what_does_not_fit_becomes_text(value: object, held: object) -> None:
    assert as_foreign(value) == held


def test_the_levels_that_are_cut_stand_as_json_text() -> None:
    cut: Any = as_foreign(nested(DEEPEST_FOREIGN + 2))
    while not isinstance(cut, str):
        cut = cut[0] if isinstance(cut, list) else cut["k"]
    assert json.loads(cut) == nested(2)


def test_a_value_of_a_hundred_thousand_levels_does_not_overflow_the_stack() -> None:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    assert isinstance(as_foreign(value), list)


@pytest.mark.parametrize("value", [2**53, 1e17, float("nan"), "\ud800", nested(40)])
def test_a_value_that_was_not_fitted_is_refused_when_the_contract_is_built(value: Any) -> None:  # noqa: ANN401
    with pytest.raises(ValidationError):
        ToolCall(tool_call_id="c", function_name="f", arguments={"x": value})
    with pytest.raises(ValidationError):
        Extra(foreign=value)
