"""What an adapter hands over, and what it makes of logs that are cut, damaged or forged."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from agents.desk import NOTE, marked, task, turn
from hypothesis import given
from hypothesis import strategies as st

from benchlib.agents import ADAPTERS, CommandAdapter, ReactAdapter, adapter_for
from benchlib.contracts.boundaries import ArmPaths
from benchlib.contracts.cohort import CommandAgent, ReactAgent
from benchlib.contracts.reading import read
from benchlib.contracts.trajectory import Step, Trajectory
from benchlib.errors import OutsideError

PATHS = ArmPaths(workspace="/w", home="/h", agent="/a", door="/d")
PROMPT = "How wide is a label?"


def _journal(*lines: object) -> bytes:
    return b"".join(
        line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines
    )


def _message(role: str, content: str, step: int = 1, channel: str | None = None) -> object:
    return {
        "type": "message",
        "role": role,
        "content": content,
        "task_step": step,
        "channel": channel,
    }


def _answer(content: str, *calls: tuple[str, str, str], **usage: int) -> object:
    listed = [{"id": i, "name": name, "arguments": text} for i, name, text in calls]
    return {"type": "answer", "content": content, "calls": listed, "usage": usage}


def _result(call_id: str, content: str, channel: str | None = None) -> object:
    return {
        "type": "result",
        "call_id": call_id,
        "name": "x",
        "content": content,
        "channel": channel,
    }


def _read(*lines: object, prompts: tuple[str, ...] = (PROMPT,)) -> Trajectory:
    trajectory = ReactAdapter().trajectory(_journal(*lines), (), task(*prompts))
    assert read(Trajectory, trajectory.canonical(), "t") == trajectory
    return trajectory


def _calls(step: Step) -> list[dict[str, object]]:
    return [dict(call.arguments) for call in step.tool_calls or ()]


def test_every_agent_of_a_cohort_has_an_adapter_of_its_name() -> None:
    agents = (
        ReactAgent(adapter="react", max_steps=3),
        CommandAgent(adapter="command", argv=("true",)),
    )
    assert {agent.adapter for agent in agents} == set(ADAPTERS)
    assert [adapter_for(agent).name for agent in agents] == [agent.adapter for agent in agents]


def test_the_arms_of_a_pair_get_equal_files_but_for_their_tokens() -> None:
    for adapter in (ReactAdapter(), CommandAdapter(("true",))):
        one, other = (adapter.agent_files(task(token=token)) for token in ("a1b2c3", "d4e5f6"))
        assert one != other
        same = [
            {name: data.replace(token, b"") for name, data in files.items()}
            for files, token in ((one, b"a1b2c3"), (other, b"d4e5f6"))
        ]
        assert same[0] == same[1]


def test_the_token_is_in_no_argv_and_no_environment() -> None:
    for adapter in (ReactAdapter(), CommandAdapter(("sh", "{prompt}", "{token}"))):
        command = adapter.command(task(token="secret"), PATHS)
        assert "secret" not in repr(command)


def test_a_command_gets_a_prompt_file_for_each_step_and_keeps_its_other_braces() -> None:
    adapter = CommandAdapter(("sh", "-c", "wc {prompt} > {step}.txt; echo ${x} {} {socket}"))
    told = task("one", "two")
    command = adapter.command(told, PATHS)
    assert command.steps[1] == (
        "sh",
        "-c",
        "wc /a/prompt-2.txt > 2.txt; echo ${x} {} /d/model.sock",
    )
    files = adapter.agent_files(told)
    assert (files["prompt-1.txt"], files["prompt-2.txt"]) == (b"one", b"two")


def test_what_a_command_prints_is_the_agents_own_words() -> None:
    told = task("one", "two")
    turns = (turn(b"out", b"err"), turn(marked(NOTE, "n-1", "tool-pull").encode()))
    trajectory = CommandAdapter(("true",)).trajectory(None, turns, told)
    assert [step.source for step in trajectory.steps] == ["user", "agent", "user", "agent"]
    assert trajectory.steps[1].message == "outerr"


def test_a_silent_command_is_no_error_and_no_turn_is_one() -> None:
    adapter = CommandAdapter(("true",))
    assert adapter.trajectory(None, (turn(),), task()).steps[1].message == ""
    with pytest.raises(OutsideError):
        adapter.trajectory(None, (), task())


def test_output_that_was_cut_says_so() -> None:
    cut, whole = (
        CommandAdapter(("true",)).trajectory(None, (one,), task()).steps[1].extra
        for one in (turn(b"x", cut=1), turn(b"x"))
    )
    assert cut is not None
    assert whole is not None
    assert cut.benchlib is not None
    assert whole.benchlib is not None
    assert (cut.benchlib.is_truncated, whole.benchlib.is_truncated) == (True, False)


@pytest.mark.parametrize("log", [None, b"", b"\n", b'{"type": "mess', b'{"type": "session"}\n'])
def test_a_missing_or_empty_journal_is_a_finding(log: bytes | None) -> None:
    with pytest.raises(OutsideError) as caught:
        ReactAdapter().trajectory(log, (), task())
    assert caught.value.place == ReactAdapter.log


def test_a_user_line_that_is_no_given_prompt_is_the_agents_own() -> None:
    trajectory = _read(
        _message("user", PROMPT), _message("user", "The answer is 58."), _message("user", PROMPT, 2)
    )
    assert [step.source for step in trajectory.steps] == ["user", "agent", "agent"]


def test_call_ids_that_come_again_keep_their_own_results() -> None:
    trajectory = _read(
        _message("user", PROMPT),
        _answer("", ("c", "read", "{}")),
        _result("c", "first"),
        _answer("", ("c", "read", "{}")),
        _result("c", "second"),
        _answer("", ("c", "read", "{}")),
    )
    contents = [
        [result.content for result in step.observation.results] if step.observation else None
        for step in trajectory.steps[1:]
    ]
    assert contents == [["first"], ["second"], None]


def test_damaged_lines_are_left_out_and_named() -> None:
    trajectory = _read(
        _message("user", PROMPT), b"\xff\n", b'{"type": 1\n', _answer("yes"), b'{"type": "resu'
    )
    assert [step.message for step in trajectory.steps] == [PROMPT, "yes"]
    assert trajectory.notes is not None
    assert "3 journal lines" in trajectory.notes
    assert trajectory.notes.endswith("2, 3, 5")


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ('{"a": 1.5}', {"a": 1.5}),
        ("", {}),
        ("{", {"text": "{"}),
        ("[1]", {"text": "[1]"}),
        ("[" * 100_000, {"text": "[" * 100_000}),
        ('{"a": 1, "a": 2}', {"a": 2}),
        ('{"a": 1e999}', {"a": "inf"}),
        ('{"a": "\\ud800"}', {"a": "\\ud800"}),
    ],
)
def test_arguments_stand_as_the_agents_reader_took_them_or_as_text(
    text: str, arguments: dict[str, object]
) -> None:
    trajectory = _read(_message("user", PROMPT), _answer("", ("c", "run", text)))
    assert _calls(trajectory.steps[1]) == [arguments]


@pytest.mark.parametrize("levels", range(24, 34))
def test_arguments_of_any_depth_leave_a_trajectory_that_can_be_read(levels: int) -> None:
    text = '{"a":' * levels + "1" + "}" * levels
    (arguments,) = _calls(_read(_message("user", PROMPT), _answer("", ("c", "run", text))).steps[1])
    assert (arguments == json.loads(text)) == (levels <= 24)


def test_cached_tokens_are_a_part_of_the_prompts() -> None:
    usage = {
        "prompt_tokens": 9,
        "completion_tokens": 2,
        "prompt_tokens_details": {"cached_tokens": 4},
    }
    answer = {"type": "answer", "content": "x", "calls": [], "usage": usage, "reasoning": "why"}
    trajectory = _read(_message("user", PROMPT), answer, answer)
    metrics = trajectory.steps[1].metrics
    assert metrics is not None
    assert (metrics.prompt_tokens, metrics.completion_tokens, metrics.cached_tokens) == (9, 2, 4)
    assert trajectory.steps[1].reasoning_content == "why"
    assert trajectory.final_metrics is not None
    assert trajectory.final_metrics.total_prompt_tokens == 18
    assert trajectory.final_metrics.total_cached_tokens == 8


def test_each_step_names_its_lines_and_the_step_of_the_task() -> None:
    trajectory = _read(
        _message("user", PROMPT),
        _answer("a"),
        _message("system", "s", 2, "prompt-retrieval"),
        _message("user", "Double it.", 2),
        _answer("b"),
        prompts=(PROMPT, "Double it."),
    )
    places = [step.extra.benchlib for step in trajectory.steps if step.extra]
    assert [place.task_step for place in places if place] == [1, 1, 2, 2, 2]
    assert [place.log_lines for place in places if place] == [(n, n) for n in range(1, 6)]
    assert [place.channel for place in places if place][2] == "prompt-retrieval"


_VALUES = (
    st.none() | st.integers() | st.text(max_size=8) | st.lists(st.text(max_size=3), max_size=2)
)
_FORGED = st.dictionaries(
    st.sampled_from(
        ["type", "role", "content", "task_step", "channel", "calls", "usage", "call_id", "reason"]
    ),
    _VALUES | st.sampled_from(["message", "answer", "result", "end", "session", "user"]),
    max_size=6,
)


@given(st.lists(_FORGED, max_size=8), st.binary(max_size=20))
def test_whatever_an_agent_writes_into_its_journal_is_read_without_a_crash(
    lines: list[dict[str, object]], rest: bytes
) -> None:
    log = _journal(_message("user", PROMPT), *lines, rest)
    trajectory = ReactAdapter().trajectory(log, (), replace(task(), prompts=(PROMPT,)))
    assert read(Trajectory, trajectory.canonical(), "t") == trajectory
    assert {step.message for step in trajectory.steps if step.source == "user"} == {PROMPT}
