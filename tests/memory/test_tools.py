from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from memory.memory_builder import REFERENCE, provisioner, restored, write_fixture

from benchlib.contracts.cohort import Provisioner
from benchlib.errors import OutsideError
from benchlib.memory import MemoryTools, Restored

WORDS_THAT_TELL = ("benchlib", "benchmark", "fixture", "arm", "control", "treatment", "condition")


@pytest.fixture
def memory(tmp_path: Path) -> Restored:
    root = tmp_path / "fixture"
    return restored(root, write_fixture(root), tmp_path / "m")


@pytest.fixture
def tools(memory: Restored) -> Iterator[MemoryTools]:
    with MemoryTools(provisioner(), project=memory.project, working=memory.working) as opened:
        yield opened


def _ask(tools: MemoryTools, method: str, params: object = None, own_id: object = "a-1") -> dict:
    request = {"jsonrpc": "2.0", "id": own_id, "method": method, "params": params or {}}
    return json.loads(tools.handle(json.dumps(request).encode()))


def _call(tools: MemoryTools, name: str, arguments: object, **more: object) -> tuple[str, bool]:
    result = _ask(tools, "tools/call", {"name": name, "arguments": arguments, **more})["result"]
    return result["content"][0]["text"], result["isError"]


def test_three_tools_are_offered_and_nothing_tells_what_for(tools: MemoryTools) -> None:
    listed = _ask(tools, "tools/list")["result"]["tools"]
    names = [tool["name"] for tool in listed]
    assert names == ["memory_search", "memory_get", "memory_neighbours"]
    said = json.dumps([listed, _ask(tools, "initialize")]).lower()
    assert not [word for word in WORDS_THAT_TELL if word in said.replace("charm", "")]


def test_each_hit_is_printed_between_its_marks(tools: MemoryTools) -> None:
    text, is_error = _call(tools, "memory_get", {"id": "n-1"})
    assert not is_error
    assert text == (
        "<!-- memory channel=tool-pull item=n-1 sha256=c906e6738f74 -->\n"
        "Width\nLabels are 58 mm wide.\n"
        "<!-- /memory item=n-1 -->"
    )


def test_the_caller_names_the_channel_in_the_mark(tools: MemoryTools) -> None:
    text, _ = _call(
        tools,
        "memory_search",
        {"query": "How wide are labels?", "limit": 1},
        _meta={"channel": "prompt-retrieval"},
    )
    assert text.startswith("<!-- memory channel=prompt-retrieval item=n-1 ")
    refused = _ask(tools, "tools/call", {"name": "memory_get", "_meta": {"channel": "other"}})
    assert refused["error"]["code"] == -32602


def test_neighbours_are_printed_with_what_links_them(tools: MemoryTools) -> None:
    text, _ = _call(tools, "memory_neighbours", {"id": "n-1"})
    assert text.startswith("<!-- memory channel=tool-pull item=k-1 ")
    assert text.endswith("\n\nn-1 about k-1\n\nn-2 near n-1")


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("memory_get", {"id": "n-99"}, "There is no note 'n-99'."),
        ("memory_get", {}, "id is not a text"),
        ("memory_get", {"id": "n-1", "more": 1}, "there is no argument 'more'"),
        ("memory_search", {"query": " "}, "query is not a text"),
        ("memory_search", {"query": "x", "limit": 0}, "limit is not"),
        ("memory_search", {"query": "x", "limit": True}, "limit is not"),
        ("memory_search", {"query": "x", "limit": 21}, "limit is not"),
        ("memory_search", {"query": "\ud800"}, "query holds a lone surrogate"),
    ],
)
def test_a_bad_argument_is_told_to_the_agent(
    tools: MemoryTools, name: str, arguments: object, said: str
) -> None:
    text, is_error = _call(tools, name, arguments)
    assert is_error
    assert text.startswith(said)


def test_finding_nothing_is_an_answer(tools: MemoryTools) -> None:
    assert _call(tools, "memory_search", {"query": "zzzz"}) == ("Nothing found.", False)


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("nothing/like", {}, -32601),
        ("tools/call", {"name": "rm"}, -32602),
        ("tools/call", [1], -32602),
        ("tools/call", {"name": "memory_get", "arguments": []}, -32602),
    ],
)
def test_a_bad_request_gets_an_error_of_the_protocol(
    tools: MemoryTools, method: str, params: object, code: int
) -> None:
    assert _ask(tools, method, params)["error"]["code"] == code


@pytest.mark.parametrize(
    ("request_", "code"), [(b"{", -32700), (b"[]", -32600), (b'{"id": 1}', -32600)]
)
def test_what_is_no_request_never_reaches_the_server(
    tools: MemoryTools, request_: bytes, code: int
) -> None:
    assert json.loads(tools.handle(request_))["error"]["code"] == code
    assert tools.faults == []


@pytest.mark.parametrize("own_id", ["a", 7, 0, None, 1.5])
def test_an_agents_id_comes_back_as_it_was(tools: MemoryTools, own_id: object) -> None:
    assert _ask(tools, "ping", own_id=own_id) == {"jsonrpc": "2.0", "id": own_id, "result": {}}


def test_a_notification_gets_no_answer(tools: MemoryTools) -> None:
    request = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert tools.handle(json.dumps(request).encode()) == b""


def test_many_threads_get_each_their_own_answer(tools: MemoryTools) -> None:
    wrong: list[object] = []

    def ask(number: int) -> None:
        wrong.extend(
            answer
            for _ in range(20)
            if (answer := _ask(tools, "ping", own_id=number))["id"] != number
        )

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_long_question_passes_whole(tools: MemoryTools) -> None:
    text, is_error = _call(tools, "memory_search", {"query": "labels " * 20_000})
    assert not is_error
    assert "item=n-1" in text


def _served(folder: Path, script: str, seconds: float = 5.0) -> MemoryTools:
    serve = (sys.executable, "-c", script)
    system = Provisioner(name="odd", build="1", argv=("false",), serve=serve, embedding="unknown")
    return MemoryTools(system, project="p", working=folder, call_seconds=seconds)


HANDSHAKE = (
    "import json, os, sys, time\n"
    "def say(**message): print(json.dumps({'jsonrpc': '2.0', **message}), flush=True)\n"
    "say(id=json.loads(input())['id'], result={'serverInfo': {'name': 'odd'}})\n"
    "input()\n"
)


def test_a_server_that_is_silent_costs_its_time_and_no_more(tmp_path: Path) -> None:
    script = HANDSHAKE + "time.sleep(1000)"
    with _served(tmp_path, script, seconds=0.5) as tools:
        started = time.monotonic()
        assert _ask(tools, "ping")["error"]["message"] == "the memory did not answer"
        assert time.monotonic() - started < 3
        assert tools.faults == ["no answer in time"]


def test_an_answer_that_comes_too_late_is_not_taken_for_the_next_one(tmp_path: Path) -> None:
    script = HANDSHAKE + (
        "first = json.loads(input()); second = json.loads(input())\n"
        "say(id=first['id'], result={'is': 'late'})\n"
        "say(method='notifications/message', params={})\n"
        "say(method='ping', id=second['id'])\n"
        "say(id=second['id'], result={'is': 'right'})\n"
        "time.sleep(1000)\n"
    )
    with _served(tmp_path, script, seconds=2.0) as tools:
        assert "error" in _ask(tools, "one")
        assert _ask(tools, "two")["result"] == {"is": "right"}


@pytest.mark.parametrize(
    ("rest", "fault"),
    [
        ("input(); sys.exit(3)", "the server ended"),
        ("input(); print('hello', flush=True); time.sleep(100)", "a line that is not JSON"),
        ("input(); print('[]', flush=True); time.sleep(100)", "a line that is not an object"),
        ("input(); print('x' * 5_000_000, flush=True); time.sleep(100)", "a message of more than"),
    ],
)
def test_a_server_that_breaks_is_a_fault_of_the_apparatus(
    tmp_path: Path, rest: str, fault: str
) -> None:
    with _served(tmp_path, HANDSHAKE + rest, seconds=1.5) as tools:
        assert _ask(tools, "ping")["error"]["code"] == -32000
        assert tools.faults[0].startswith(fault)
        assert tools.handle(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}')


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("import sys; sys.exit('no such project')", "no such project"),
        ("print('welcome')", "not JSON"),
        (
            "import json; input(); print(json.dumps({'id': 1, 'error': {'code': 1}}))",
            "no handshake",
        ),
    ],
)
def test_a_server_that_makes_no_handshake_is_an_error_with_its_diagnostics(
    tmp_path: Path, script: str, found: str
) -> None:
    with pytest.raises(OutsideError) as caught:
        _served(tmp_path, script)
    assert found in caught.value.found
    assert caught.value.place == "odd: serve"


def test_a_server_that_floods_its_stderr_goes_on(tmp_path: Path) -> None:
    script = HANDSHAKE + (
        "request = json.loads(input())\n"
        "sys.stderr.write('z' * 3_000_000); sys.stderr.flush()\n"
        "say(id=request['id'], result={})\n"
        "time.sleep(1000)\n"
    )
    with _served(tmp_path, script) as tools:
        assert _ask(tools, "ping")["result"] == {}
    assert tools.stderr_head == "z" * 2048


def test_a_closed_server_is_gone_with_all_that_it_started(tmp_path: Path) -> None:
    script = HANDSHAKE + (
        "import subprocess; child = subprocess.Popen(['sleep', '1000'])\n"
        "say(id=json.loads(input())['id'], result={'pids': [os.getpid(), child.pid]})\n"
        "time.sleep(1000)\n"
    )
    tools = _served(tmp_path, script)
    pids = _ask(tools, "ping")["result"]["pids"]
    tools.close()
    tools.close()
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_memory_that_is_not_there_is_not_served(tmp_path: Path) -> None:
    with pytest.raises(OutsideError, match="there is no project"):
        MemoryTools(provisioner(*REFERENCE), project="r-00000000", working=tmp_path)


def test_the_time_to_be_ready_is_known(tools: MemoryTools) -> None:
    assert 0 < tools.ready_milliseconds < 60_000
