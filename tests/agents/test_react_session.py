"""The real agent as a process, a real door, a scripted policy; one session over two steps."""

from __future__ import annotations

import ast
import json
import signal
import sys
import time
from pathlib import Path

import pytest
from agents.desk import Desk, Notes, Play, task

from benchlib.agents import PROVIDER_FAILED, react
from benchlib.agents.react import JOURNAL
from benchlib.contracts.reading import read
from benchlib.contracts.trajectory import Trajectory
from benchlib.gateway import Answer, BadRequestError, ChatAnswer, ChatRequest


def test_without_memory_the_agent_looks_guesses_and_finishes(desk: Desk, sample: Answer) -> None:
    (desk.workspace / "app.py").write_text("WIDTH = 40\n")
    assert desk.step(sample, task()) == (0, "")
    assert (desk.workspace / "answer.txt").read_text() == "40\n"
    names = [tool["function"]["name"] for tool in desk.requests()[0]["tools"]]
    assert names == ["run", "read", "write", "search", "finish"]


def test_what_a_memory_tool_says_reaches_the_model_and_changes_the_answer(
    desk: Desk, sample: Answer
) -> None:
    desk.memory = Notes()
    assert desk.step(sample, task(memory_tools=True)) == (0, "")
    assert (desk.workspace / "answer.txt").read_text() == "58\n"


def test_an_empty_memory_leaves_the_answer_as_it_is_without_one(desk: Desk, sample: Answer) -> None:
    desk.memory = Notes(text=None)
    desk.step(sample, task(memory_tools=True))
    assert (desk.workspace / "answer.txt").read_text() == "40\n"


def test_retrieved_memory_is_a_system_message_before_the_prompt(desk: Desk, sample: Answer) -> None:
    desk.memory = Notes()
    desk.step(sample, task(memory_retrieval=True))
    first = desk.requests()[0]
    roles = [message["role"] for message in first["messages"]]
    assert roles == ["system", "system", "user"]
    assert first["messages"][1]["content"].startswith("<!-- memory channel=prompt-retrieval ")
    assert "memory_search" not in [tool["function"]["name"] for tool in first["tools"]]
    assert (desk.workspace / "answer.txt").read_text() == "58\n"


def test_a_retrieval_that_finds_nothing_puts_nothing_in(desk: Desk, sample: Answer) -> None:
    desk.memory = Notes(text=None)
    desk.step(sample, task(memory_retrieval=True))
    roles = [message["role"] for message in desk.requests()[0]["messages"]]
    assert roles == ["system", "user"]


def test_the_second_step_goes_on_in_the_session_of_the_first(desk: Desk, sample: Answer) -> None:
    desk.memory = Notes()
    both = task("How wide is a label?", "Double it.", memory_tools=True)
    desk.step(sample, both, 1)
    before = desk.requests()[-1]["messages"]
    assert desk.step(sample, both, 2) == (0, "")
    assert (desk.workspace / "double.txt").read_text() == "twice 58\n"
    after = desk.requests()[-2]["messages"]
    assert after[: len(before)] == before
    trajectory = desk.trajectory(both)
    prompts = [step for step in trajectory.steps if step.source == "user"]
    assert [step.message for step in prompts] == list(both.prompts)
    assert [step.extra.benchlib.task_step for step in prompts] == [1, 2]


def test_two_equal_sessions_leave_equal_journals_and_trajectories(
    tmp_path: Path, sample: Answer, desk: Desk
) -> None:
    other = Desk(tmp_path)
    for one in (desk, other):
        (one.workspace / "app.py").write_text("WIDTH = 40\n")
        one.step(sample, task())
    assert desk.journal.read_bytes() == other.journal.read_bytes()
    assert desk.trajectory(task()).canonical() == other.trajectory(task()).canonical()


def test_who_said_what_and_by_which_channel_stands_in_the_trajectory(
    desk: Desk, sample: Answer
) -> None:
    desk.memory = Notes()
    both = task(memory_tools=True, memory_retrieval=True)
    desk.step(sample, both)
    trajectory = desk.trajectory(both)
    assert read(Trajectory, trajectory.canonical(), "t").canonical() == trajectory.canonical()
    assert trajectory.schema_version == "ATIF-v1.8"
    assert trajectory.session_id == "s-1"
    sources = [step.source for step in trajectory.steps]
    assert sources == ["system", "system", "user", "agent", "agent", "agent", "agent"]
    assert trajectory.steps[1].extra.benchlib.channel == "prompt-retrieval"
    (search,), (recall,), *_ = (
        step.observation.results for step in trajectory.steps if step.observation
    )
    assert search.extra.benchlib.channel is None
    assert recall.extra.benchlib.channel == "tool-pull"
    assert recall.content.startswith("<!-- memory channel=tool-pull item=n-1 ")
    offered = [tool["function"]["name"] for tool in trajectory.agent.tool_definitions]
    assert offered[-1] == "memory_search"
    assert trajectory.notes == "step 1: finished"


def test_the_trajectorys_tokens_are_those_of_the_meter(desk: Desk, sample: Answer) -> None:
    desk.step(sample, task())
    metrics = [step.metrics for step in desk.trajectory(task()).steps if step.metrics]
    told = [one.response["usage"] for one in desk.exchanges()]
    assert [one.prompt_tokens for one in metrics] == [usage["prompt_tokens"] for usage in told]
    assert sum(one.completion_tokens for one in metrics) == sum(
        usage["completion_tokens"] for usage in told
    )


def test_reaching_the_step_limit_is_a_normal_end(desk: Desk) -> None:
    forever = Play([[("run", '{"command": "true"}')]])
    assert desk.step(forever, task(max_steps=3)) == (0, "")
    assert len(desk.requests()) == 3
    assert desk.lines()[-1]["reason"] == "out-of-steps"


def test_another_token_is_a_failing_provider_and_no_answer(desk: Desk, sample: Answer) -> None:
    status, err = desk.step(sample, task(token="another"))
    assert status == PROVIDER_FAILED
    assert "401" in err


def test_a_request_that_the_model_side_refuses_is_not_tried_again(desk: Desk) -> None:
    asked: list[ChatRequest] = []

    def refuse(request: ChatRequest) -> ChatAnswer:
        asked.append(request)
        raise BadRequestError("no rule of policy 'narrow' matches")

    status, err = desk.step(refuse, task())
    assert status == PROVIDER_FAILED
    assert "narrow" in err
    assert len(asked) == 1


def test_a_door_that_nobody_opened_is_a_failing_provider(desk: Desk) -> None:
    process = desk.start(task(), 1)
    _, err = process.communicate(timeout=60)
    assert process.returncode == PROVIDER_FAILED
    assert b"/v1/chat/completions" in err


def test_a_memory_that_was_promised_and_is_not_there_is_no_silent_control(
    desk: Desk, sample: Answer
) -> None:
    status, err = desk.step(sample, task(memory_tools=True))
    assert status == PROVIDER_FAILED
    assert "/mcp" in err


@pytest.mark.parametrize("method", ["initialize", "tools/list", "tools/call"])
def test_a_memory_that_answers_a_retrieval_with_an_error_is_no_silent_control(
    desk: Desk, sample: Answer, method: str
) -> None:
    desk.memory = Notes(fails=method)
    status, _ = desk.step(sample, task(memory_tools=True, memory_retrieval=True))
    assert status == PROVIDER_FAILED


def test_a_memory_tool_that_fails_a_call_says_so_to_the_model(desk: Desk, sample: Answer) -> None:
    desk.memory = Notes(fails="tools/call")
    assert desk.step(sample, task(memory_tools=True))[0] == 0
    results = [line for line in desk.lines() if line.get("name") == "memory_search"]
    assert results[0]["content"].startswith("error:")


def test_a_memory_tool_may_not_hide_a_tool_of_the_agent(desk: Desk, sample: Answer) -> None:
    desk.memory = Notes(tool="run")
    status, err = desk.step(sample, task(memory_tools=True))
    assert status == PROVIDER_FAILED
    assert "'run'" in err


def test_a_killed_step_goes_on_where_it_was_and_does_nothing_twice(desk: Desk) -> None:
    command = "echo once >> log.txt; sleep 30"
    first = Play([[("run", json.dumps({"command": command}))]])
    with desk.door(first):
        process = desk.start(task(), 1)
        _wait_for(desk.workspace / "log.txt")
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert desk.step(Play(["all is well"]), task()) == (0, "")
    assert (desk.workspace / "log.txt").read_text() == "once\n"
    last = desk.requests()[-1]["messages"]
    assert [message["role"] for message in last] == ["system", "user", "assistant", "tool"]
    assert "unknown" in last[-1]["content"]
    assert desk.lines()[-1] == {"type": "end", "task_step": 1, "reason": "answered"}


def _wait_for(path: Path) -> None:
    deadline = time.monotonic() + 20
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_every_cut_of_a_journal_can_be_resumed_and_read(
    desk: Desk, sample: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.step(sample, task())
    whole = desk.journal.read_bytes()
    ends = [0, *(n for n in range(len(whole)) if whole[n : n + 1] == b"\n")]
    monkeypatch.chdir(desk.workspace)
    monkeypatch.setenv("HOME", str(desk.root / "home"))
    with desk.door(sample):
        for cut in sorted({*ends, *(end + 1 for end in ends), *(end + 30 for end in ends)}):
            desk.journal.write_bytes(whole[:cut])
            assert react.main(desk.arguments) == 0
            trajectory = desk.trajectory(task())
            assert "damaged" not in (trajectory.notes or "")
            prompts = [step.message for step in trajectory.steps if step.source == "user"]
            assert prompts == ["How wide is a label?"]


def test_a_step_that_has_ended_asks_nothing_more(desk: Desk, sample: Answer) -> None:
    desk.step(sample, task())
    asked = len(desk.requests())
    assert desk.step(sample, task()) == (0, "")
    assert len(desk.requests()) == asked


def test_the_agent_is_written_for_the_oldest_python_that_an_image_may_have() -> None:
    source = Path(react.__file__).read_text()
    tree = ast.parse(source, feature_version=(3, 9))
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [str(node.module)]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert imported <= sys.stdlib_module_names


def test_the_journal_lies_where_the_adapter_says(desk: Desk, sample: Answer) -> None:
    desk.step(sample, task())
    assert (desk.root / "home" / JOURNAL).is_file()
    assert not [path for path in desk.workspace.rglob("*") if path.name != "answer.txt"]


def test_nothing_that_the_agent_can_read_names_what_it_takes_part_in(
    desk: Desk, sample: Answer
) -> None:
    desk.step(sample, task())
    seen = [path.read_text() for path in (desk.root / "agent").iterdir()]
    seen += [json.dumps(desk.requests()), desk.journal.read_text()]
    for word in ("benchlib", "benchmark", "cohort", "fixture", "treatment", "experiment"):
        assert not [text for text in seen if word in text.lower()]
