from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchlib.contracts.attempt import Launch, Limits
from benchlib.run.premise import check_premise

LIMITS = Limits(
    milli_cpus=1000,
    memory_bytes=512 * 2**20,
    max_processes=64,
    network="none",
    capabilities_dropped=True,
    no_new_privileges=True,
)
CONTROL = Launch(
    image="sha256:" + "0" * 64,
    argv=(("python3", "{agent}/react.py"),),
    environment=(("LANG", "C.UTF-8"),),
    prompts=("Correct the label width.",),
    limits=LIMITS,
    agent_timeout_seconds=900,
    model="m-1",
    agent_files_sha256="a" * 64,
    channels=(),
)
TREATMENT = CONTROL.model_copy(update={"channels": ("tool-pull",), "agent_files_sha256": "b" * 64})


def _tool(name: str) -> dict[str, object]:
    return {"type": "function", "function": {"name": name}}


PROMPT = {"role": "user", "content": "Correct the label width."}
REQUEST = {"model": "m-1", "seed": 3, "messages": [PROMPT], "tools": [_tool("read")]}


def test_two_equal_arms_show_no_difference() -> None:
    report = check_premise(CONTROL, CONTROL, first_requests=(REQUEST, REQUEST))
    assert report.differences == ()
    assert report.holds


def test_what_the_declared_channel_adds_is_explained_by_it() -> None:
    with_memory = {**REQUEST, "tools": [_tool("read"), _tool("memory_search")]}
    report = check_premise(CONTROL, TREATMENT, first_requests=(REQUEST, with_memory))
    assert report.holds
    assert {one.field for one in report.differences} == {
        "launch.channels",
        "launch.agent_files_sha256",
        "first-request.tools",
    }
    assert {one.explained_by for one in report.differences} == {"tool-pull"}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("image", "sha256:" + "1" * 64),
        ("argv", (("python3", "{agent}/other.py"),)),
        ("environment", (("LANG", "C.UTF-8"), ("HINT", "1"))),
        ("prompts", ("Correct the label's width.",)),
        ("limits", LIMITS.model_copy(update={"milli_cpus": 2000})),
        ("agent_timeout_seconds", 600),
        ("model", "m-1-2026-03"),
    ],
)
def test_any_other_difference_of_the_launch_breaks_the_premise(field: str, value: object) -> None:
    report = check_premise(
        CONTROL, TREATMENT.model_copy(update={field: value}), first_requests=None
    )
    assert not report.holds
    unexplained = [one for one in report.differences if one.explained_by is None]
    assert [one.field for one in unexplained] == [f"launch.{field}"]


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 4},
        {"model": "m-2"},
        {"messages": [{**PROMPT, "content": "On branch main. Correct the label width."}]},
        {"tools": [_tool("read"), _tool("browse")]},
        {"temperature": 1},
    ],
    ids=lambda change: next(iter(change)),
)
def test_any_other_difference_of_the_first_request_breaks_the_premise(
    change: dict[str, object],
) -> None:
    report = check_premise(CONTROL, TREATMENT, first_requests=(REQUEST, {**REQUEST, **change}))
    assert not report.holds


def test_a_memory_tool_without_the_declared_channel_breaks_the_premise() -> None:
    with_memory = {**REQUEST, "tools": [_tool("read"), _tool("memory_search")]}
    assert not check_premise(CONTROL, CONTROL, first_requests=(REQUEST, with_memory)).holds


def test_arms_with_other_caps_fail_the_premise_whatever_a_note_says(repository: Path) -> None:
    """Case 12: one arm had another cost cap; disclosure does not cure it."""
    case = json.loads((repository / "tests/cases/apparatus/keys.json").read_text())
    memory, control = case["arm_limits_differ"]["memory"], case["arm_limits_differ"]["control"]
    report = check_premise(
        CONTROL.model_copy(update={"agent_timeout_seconds": int(float(control["cost_usd"]) * 100)}),
        TREATMENT.model_copy(
            update={"agent_timeout_seconds": int(float(memory["cost_usd"]) * 100)}
        ),
        first_requests=None,
    )
    assert not report.holds
