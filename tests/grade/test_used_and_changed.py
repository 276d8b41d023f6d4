from __future__ import annotations

import pytest

from benchlib.contracts.attempt import Delivered, Delivery, Use
from benchlib.contracts.trajectory import Step, Trajectory
from benchlib.errors import InputError
from benchlib.grade import changed, used
from tests.grade.test_delivered import PROMPT, calls, says, session

NOTHING = Use(used=False, evidence=(), step_ids=())


def at(step_id: int, channel: str = "tool-pull") -> Delivery:
    item = Delivered(
        item="n-07",
        channel=channel,
        by="mark",
        step_id=step_id,
        is_partial=False,
        confirmed_on_wire=None,
    )
    return Delivery(items=(item,), in_prompt=(), disagreements=())


SEARCH = calls("memory_search", {"query": "width"}, "104 columns")


def use(*steps: Step, delivery: Delivery | None = None) -> Use:
    trajectory: Trajectory = session(PROMPT, *steps)
    return used(trajectory, ("104", "half to even"), delivery or at(2))


@pytest.mark.parametrize(
    "acting",
    [
        says("agent", "The width is 104."),
        calls("write", {"path": "label.py", "content": "WIDTH = 104\n"}, "ok"),
        says("agent", "").model_copy(update={"reasoning_content": "so it is 104"}),
    ],
    ids=["message", "call", "reasoning"],
)
def test_evidence_in_the_agents_own_words_after_delivery_is_use(acting: Step) -> None:
    assert use(SEARCH, acting) == Use(used=True, evidence=("104",), step_ids=(3,))


NO_USE = {
    "only delivered": (SEARCH,),
    "said before": (says("agent", "perhaps 104"), SEARCH, says("agent", "104")),
    "in the delivering call": (calls("memory_search", {"query": "104"}, ""), says("agent", "104")),
    "only heard again": (SEARCH, calls("run", {"command": "cat label.py"}, "104")),
    "said by the system": (SEARCH, says("system", "104")),
    "copied": (SEARCH, says("agent", "104", is_copied_context=True)),
}


@pytest.mark.parametrize("name", NO_USE)
def test_what_the_agent_did_not_do_after_delivery_is_no_use(name: str) -> None:
    steps = NO_USE[name]
    assert use(*steps, delivery=at(2 if name != "said before" else 3)) == NOTHING


def test_without_delivery_there_is_no_use() -> None:
    acting = says("agent", "104, half to even")
    none = Delivery(items=(), in_prompt=("n-07",), disagreements=())
    assert use(acting, delivery=none) == NOTHING
    assert use(acting, delivery=at(1, "unattributed")) == NOTHING


def test_each_text_counts_once_with_all_its_steps() -> None:
    found = use(SEARCH, says("agent", "104"), says("agent", "104 and half to even"))
    assert found == Use(used=True, evidence=("104", "half to even"), step_ids=(3, 4))


@pytest.mark.parametrize(
    ("control", "treatment", "outcome"),
    [(0, 1, "gained"), (1, 0, "lost"), (1, 1, "both-passed"), (0, 0, "both-failed")],
)
def test_the_paired_outcome_has_four_values(control: int, treatment: int, outcome: str) -> None:
    change = changed(control, treatment)
    assert (change.outcome, change.control_reward, change.treatment_reward) == (
        outcome,
        control,
        treatment,
    )


@pytest.mark.parametrize("rewards", [(2, 0), (0, -1)])
def test_a_reward_is_zero_or_one(rewards: tuple[int, int]) -> None:
    with pytest.raises(InputError, match="0 or 1"):
        changed(*rewards)
