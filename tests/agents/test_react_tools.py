"""What a model may ask of the tools: every call has a result, and none of them hangs or crashes."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from agents.desk import Desk, Play, task
from hypothesis import given
from hypothesis import strategies as st

from benchlib.agents import react, run_loop
from benchlib.agents.react import LONGEST_RESULT, Tool, call_tool, workspace_tools


def _call(folder: Path, name: str, **arguments: object) -> str:
    return _raw(folder, name, json.dumps(arguments))


def _raw(folder: Path, name: str, arguments: str) -> str:
    tools = {tool.name: tool for tool in workspace_tools(folder)}
    content = call_tool(tools, {"id": "c", "name": name, "arguments": arguments})["content"]
    assert isinstance(content, str)
    return content


def test_a_command_gives_its_output_and_status(tmp_path: Path) -> None:
    assert _call(tmp_path, "run", command="pwd; echo no >&2; exit 3") == (
        f"{tmp_path}\nno\n\n[exit status 3]"
    )


def test_a_file_is_written_with_its_folders_and_read_by_lines(tmp_path: Path) -> None:
    assert _call(tmp_path, "write", path="a/b.txt", content="1\n2\n3\n") == "wrote a/b.txt"
    assert _call(tmp_path, "read", path="a/b.txt") == "1\n2\n3"
    assert _call(tmp_path, "read", path="a/b.txt", offset=2, limit=1) == "2"


def test_a_search_names_path_line_and_text_in_the_order_of_paths(tmp_path: Path) -> None:
    for name in ("b.py", "a.py", ".git/config"):
        _call(tmp_path, "write", path=name, content="x\nwidth = 1\n")
    assert _call(tmp_path, "search", pattern="w.dth") == "a.py:2: width = 1\nb.py:2: width = 1"
    assert _call(tmp_path, "search", pattern="w.dth", path="b.py") == "b.py:2: width = 1"
    assert _call(tmp_path, "search", pattern="height") == "nothing found"


HOSTILE = [
    ("run", "{"),
    ("run", ""),
    ("run", "[]"),
    ("run", "null"),
    ("run", '{"command": 4}'),
    ("run", '{"command": "a\\u0000b"}'),
    ("run", '{"command": "\\ud800"}'),
    ("run", "[" * 100_000),
    ("read", '{"path": "absent"}'),
    ("read", '{"path": "."}'),
    ("read", '{"path": "pipe"}'),
    ("read", '{"path": "/dev/zero"}'),
    ("read", '{"path": "file", "offset": 0}'),
    ("read", '{"path": "file", "limit": true}'),
    ("read", '{"path": "\\u0000"}'),
    ("write", '{"path": "file"}'),
    ("write", '{"path": "pipe", "content": "x"}'),
    ("write", '{"path": ".", "content": "x"}'),
    ("write", '{"path": "file/below", "content": "x"}'),
    ("write", '{"path": "other", "content": "\\ud800"}'),
    ("search", '{"pattern": "("}'),
    ("search", '{"pattern": "x", "path": 3}'),
    ("search", '{"pattern": "x", "path": "absent"}'),
    ("finish", "{}"),
    ("destroy", "{}"),
    ("", "{}"),
]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "file").write_text("kept")
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


@pytest.mark.parametrize(("name", "arguments"), HOSTILE)
def test_a_call_that_is_wrong_is_answered_with_what_is_wrong(
    workspace: Path, name: str, arguments: str
) -> None:
    assert _raw(workspace, name, arguments).startswith("error: ")
    assert (workspace / "file").read_text() == "kept"


@given(st.sampled_from(["read", "write", "search", "finish", "none"]), st.text(max_size=30))
def test_no_text_in_place_of_arguments_stops_the_agent(name: str, arguments: str) -> None:
    folder = Path(react.__file__).parent / "absent"
    assert _raw(folder, name, arguments)


def test_pipes_links_and_large_files_do_not_hold_a_search(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workspace)
    (workspace / "zero").symlink_to("/dev/zero")
    (workspace / "round").symlink_to(".")
    with (workspace / "large").open("wb") as file:
        file.truncate(10**10)
    assert _call(workspace, "search", pattern="kept") == "file:1: kept"


def test_a_pattern_that_takes_for_ever_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(react, "COMMAND_SECONDS", 1)
    (tmp_path / "a").write_text("a" * 60 + "b")
    assert "took more than 1 s" in _call(tmp_path, "search", pattern="(a+)+$")


def test_a_command_that_takes_for_ever_is_stopped_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(react, "COMMAND_SECONDS", 1)
    said = _call(tmp_path, "run", command="echo begun; sleep 60 & sleep 60")
    assert said == "begun\n\n[stopped after 1 s]"


@pytest.mark.parametrize(
    "command",
    [
        "sleep 20 &",
        "setsid sleep 20 &",
        "setsid sh -c 'while true; do echo y; done' & echo begun",
    ],
)
def test_what_a_command_leaves_running_is_not_waited_for(tmp_path: Path, command: str) -> None:
    started = time.monotonic()
    assert "[exit status 0]" in _call(tmp_path, "run", command=command)
    assert time.monotonic() - started < 5


def test_a_command_that_closes_its_output_is_waited_for(tmp_path: Path) -> None:
    said = _call(tmp_path, "run", command="exec >&- 2>&-; sleep 0.3; exit 4")
    assert said == "\n[exit status 4]"


def test_a_flood_is_cut_and_its_head_and_tail_are_kept(tmp_path: Path) -> None:
    said = _call(tmp_path, "run", command="echo first; head -c 300000000 /dev/zero; echo last")
    assert len(said) <= LONGEST_RESULT
    assert said.startswith("first")
    assert "bytes left out" in said
    assert said.endswith("last\n\n[exit status 0]")


def test_a_long_line_is_cut_too(tmp_path: Path) -> None:
    (tmp_path / "long").write_text("x" * 10**6 + "end")
    said = _call(tmp_path, "read", path="long")
    assert len(said) < LONGEST_RESULT + 100
    assert "left out" in said


def test_bytes_that_are_no_text_are_shown_as_replacements(tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"\xff\xfe\n")
    assert _call(tmp_path, "read", path="b") == "\ufffd\ufffd"


def test_the_loop_takes_other_tools_and_another_chat() -> None:
    """Another environment hands in its own; nothing of the workspace is in the loop."""
    counted: list[int] = []
    recorded: list[object] = []

    def count(_: object) -> str:
        counted.append(1)
        return str(len(counted))

    def chat(_: object, offered: Sequence[Mapping[str, object]]) -> dict[str, object]:
        assert len(offered) == 2
        name = "stop" if len(counted) == 2 else "count"
        calls = [{"id": f"c{len(counted)}", "name": name, "arguments": "{}"}]
        return {"content": "", "calls": calls, "usage": {}}

    tools = [Tool("count", "", {}, count), Tool("stop", "", {}, count, ends=True)]
    messages: list[dict[str, object]] = [{"role": "user", "content": "go"}]
    assert run_loop(chat, tools, messages, max_steps=9, record=recorded.append) == "finished"
    assert [message["role"] for message in messages] == ["user", *["assistant", "tool"] * 3]
    assert len(recorded) == 6


def test_hostile_calls_of_a_model_are_results_in_a_session_that_goes_on(desk: Desk) -> None:
    (desk.workspace / "file").write_text("kept")
    os.mkfifo(desk.workspace / "pipe")
    calls = [(name or "x", text) for name, text in HOSTILE if "\\ud800" not in text]
    hostile = Play([calls, "I give up."])
    assert desk.step(hostile, task()) == (0, "")
    results = [line for line in desk.lines() if line["type"] == "result"]
    assert len(results) == len(calls)
    trajectory = desk.trajectory(task())
    (acting,) = [step for step in trajectory.steps if step.tool_calls]
    assert acting.tool_calls is not None
    assert [call.function_name for call in acting.tool_calls] == [name for name, _ in calls]


def test_the_toolchains_own_writes_are_left_as_they_are(desk: Desk) -> None:
    """Byte code that an agent's command leaves is the audit's business, not suppressed here."""
    (desk.workspace / "app.py").write_text("X = 1\n")
    play = Play([[("run", json.dumps({"command": "python3 -c 'import app'"}))], "done"])
    desk.step(play, task())
    assert (desk.workspace / "__pycache__").is_dir()
