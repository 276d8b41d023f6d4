from __future__ import annotations

import http.client
import json
import socket
import stat
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchlib.contracts.policy import Rule, ScriptedPolicy, When
from benchlib.contracts.usage import Usage
from benchlib.errors import InputError, OutsideError
from benchlib.gateway import (
    ChatAnswer,
    ChatRequest,
    Gateway,
    read_wire,
    scripted_answer,
    serve,
    serve_loopback,
    usage_of,
)

POLICY = ScriptedPolicy(name="p", rules=(Rule(id="any", when=When(), say="hello"),))
BODY = {"model": "p", "messages": [{"role": "user", "content": "hi"}], "seed": 1}


def _answer(request: ChatRequest) -> ChatAnswer:
    return scripted_answer(POLICY, request)


def _ask(
    path: Path, target: str, body: bytes, *, token: str = "t", method: str = "POST"
) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("localhost", timeout=10)
    connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.sock.connect(str(path))
    connection.request(method, target, body, {"Authorization": f"Bearer {token}"})
    response = connection.getresponse()
    result = response.status, response.read()
    connection.close()
    return result


CHAT = "/v1/chat/completions"


def test_an_answer_is_metered_and_on_record_before_it_arrives(tmp_path: Path) -> None:
    door, record = tmp_path / "s", tmp_path / "wire.jsonl"
    with serve(_answer, socket_path=door, record_path=record, token="t") as gateway:
        status, body = _ask(door, CHAT, json.dumps(BODY).encode())
        assert status == 200
        assert json.loads(body)["choices"][0]["message"]["content"] == "hello"
        (exchange,) = read_wire(record)
        assert exchange.request == BODY
        assert exchange.response == json.loads(body)
        assert (
            gateway.usage
            == usage_of([exchange])
            == Usage(input_tokens=1, output_tokens=2, requests=1)
        )


def test_another_token_opens_nothing_and_leaves_no_trace_of_itself(tmp_path: Path) -> None:
    door, record = tmp_path / "s", tmp_path / "wire.jsonl"
    with serve(_answer, socket_path=door, record_path=record, token="right") as gateway:
        assert _ask(door, CHAT, b"{}", token="wrong-token")[0] == 401
        assert _ask(door, CHAT, json.dumps(BODY).encode(), token="right")[0] == 200
        assert gateway.exchanges == 1
    assert b"right" not in record.read_bytes()
    assert b"wrong-token" not in record.read_bytes()


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/"), ("GET", "/admin"), ("POST", "/v1/embeddings"), ("POST", "/mcp"), ("GET", CHAT)],
)
def test_there_is_nothing_else_behind_the_door(tmp_path: Path, method: str, path: str) -> None:
    door = tmp_path / "s"
    with serve(_answer, socket_path=door, record_path=tmp_path / "w", token="t"):
        assert _ask(door, path, b"", method=method)[0] == 404


@pytest.mark.parametrize(
    ("body", "word"),
    [
        (b"", "not-json"),
        (b"[]", "not-an-object"),
        (b'{"model": "p"}', "messages"),
        (b'{"messages": [{"role": "user", "content": "x"}]}', "model"),
        (b'{"model": "p", "messages": [{"role": "boss", "content": "x"}]}', "role"),
        (b'{"model": "p", "messages": [{"role": "user", "content": 4}]}', "content"),
        (b'{"model": "p", "messages": [{"role": "user", "content": "x"}], "seed": 1.5}', "seed"),
        (b'{"model": "p", "model": "q", "messages": []}', "duplicate-key"),
        (b'{"model": "p", "stream": true, "messages": []}', "stream"),
        (b'{"model": "p", "messages": ' + b"[" * 1000, "levels"),
    ],
)
def test_a_bad_request_is_told_what_is_wrong(tmp_path: Path, body: bytes, word: str) -> None:
    door = tmp_path / "s"
    with serve(_answer, socket_path=door, record_path=tmp_path / "w", token="t"):
        status, answer = _ask(door, CHAT, body)
    assert status == 400
    assert word in json.loads(answer)["error"]["message"]


@pytest.mark.parametrize(
    ("header", "status"),
    [
        (b"Content-Length: 99999999999", 413),
        (b"Content-Length: -1", 411),
        (b"Content-Length: \xb2", 411),
        (b"Content-Length: 1e3", 411),
        (b"Content-Length: 1" + b"0" * 5000, 411),
        (b"Transfer-Encoding: chunked", 411),
    ],
)
def test_a_request_of_no_known_or_bounded_length_is_refused_unread(
    tmp_path: Path, header: bytes, status: int
) -> None:
    door = tmp_path / "s"
    with serve(_answer, socket_path=door, record_path=tmp_path / "w", token="t") as gateway:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(door))
            client.sendall(b"POST /mcp HTTP/1.1\r\nHost: x\r\n" + header + b"\r\n\r\n")
            assert f" {status} ".encode() in client.recv(100)
        assert _ask(door, CHAT, json.dumps(BODY).encode())[0] == 200
        assert gateway.exchanges == 1


def test_a_request_that_breaks_off_was_never_asked(tmp_path: Path) -> None:
    door = tmp_path / "s"
    with serve(_answer, socket_path=door, record_path=tmp_path / "w", token="t") as gateway:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(door))
            head = (
                f"POST {CHAT} HTTP/1.1\r\nAuthorization: Bearer t\r\nContent-Length: 2000\r\n\r\n"
            )
            client.sendall(head.encode() + json.dumps(BODY).encode())
            client.shutdown(socket.SHUT_WR)
            assert client.recv(100) == b""
        assert gateway.exchanges == 0


def _nested(levels: int) -> bytes:
    return b'{"a":' * levels + b"1" + b"}" * levels


@pytest.mark.parametrize(
    "body",
    [
        *(_nested(levels) for levels in range(29, 35)),
        b'{"a": "\\ud800"}',
        b'{"a": 1e999}',
        b'{"a": 12345678901234567890}',
        b'{"a": "\xe2\x80\xa8\xc2\x85\\u0000"}',
        b"\xff\xfe\n\n{",
        b"\xef\xbb\xbf{}",
    ],
)
def test_whatever_is_sent_can_be_read_back_from_the_record(tmp_path: Path, body: bytes) -> None:
    door, record = tmp_path / "s", tmp_path / "wire.jsonl"
    with serve(
        _answer, socket_path=door, record_path=record, token="t", call_memory=lambda body: body
    ):
        _ask(door, CHAT, body)
        _ask(door, "/mcp", body)
    assert [one.n for one in read_wire(record)] == [1, 2]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(st.dictionaries(st.text(), _JSON, max_size=4).map(lambda one: json.dumps(one).encode()))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_object_that_is_sent_can_be_read_back(tmp_path: Path, body: bytes) -> None:
    record = tmp_path / "wire.jsonl"
    record.unlink(missing_ok=True)
    with record.open("ab") as file:
        Gateway(_answer, None, "t", file, ()).reply("POST", CHAT, body)
    (exchange,) = read_wire(record)
    assert exchange.status in {200, 400}


def test_equal_requests_get_equal_bytes_whatever_came_between(tmp_path: Path) -> None:
    door = tmp_path / "s"
    body, other = json.dumps(BODY).encode(), json.dumps({**BODY, "seed": 9}).encode()
    with serve(_answer, socket_path=door, record_path=tmp_path / "w", token="t"):
        first = _ask(door, CHAT, body)
        assert _ask(door, CHAT, other) != first
        _ask(door, CHAT, b"{")
        assert _ask(door, CHAT, body) == first


def test_many_at_once_are_each_recorded_and_metered_once(tmp_path: Path) -> None:
    door, record = tmp_path / "s", tmp_path / "wire.jsonl"
    body = json.dumps(BODY).encode()
    with serve(_answer, socket_path=door, record_path=record, token="t") as gateway:
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: _ask(door, CHAT, body), range(40)))
        assert {status for status, _ in answers} == {200}
        assert gateway.usage.requests == 40
    exchanges = read_wire(record)
    assert sorted(one.n for one in exchanges) == list(range(1, 41))
    assert usage_of(exchanges) == gateway.usage


def test_the_models_that_were_named_are_listed(tmp_path: Path) -> None:
    door = tmp_path / "s"
    with serve(_answer, socket_path=door, record_path=tmp_path / "w", token="t", models=("p",)):
        status, body = _ask(door, "/v1/models", b"", method="GET")
    assert (status, [one["id"] for one in json.loads(body)["data"]]) == (200, ["p"])


def test_a_door_is_for_any_user_and_gone_when_it_closes(tmp_path: Path) -> None:
    door = tmp_path / "s"
    for _ in range(2):
        with serve(_answer, socket_path=door, record_path=tmp_path / "w", token="t"):
            assert stat.S_IMODE(door.stat().st_mode) == 0o666
        assert not door.exists()


def test_a_place_that_is_taken_is_an_error_of_ours(tmp_path: Path) -> None:
    door = tmp_path / "s"
    door.write_text("taken")
    with (
        pytest.raises(OutsideError) as caught,
        serve(_answer, socket_path=door, record_path=tmp_path / "w", token="t"),
    ):
        pass
    assert "in use" in caught.value.found


def test_the_memory_is_behind_the_door_only_where_it_was_handed_in(tmp_path: Path) -> None:
    door = tmp_path / "s"
    seen: list[bytes] = []

    def memory(request: bytes) -> bytes:
        seen.append(request)
        if b"notify" in request:
            return b""
        if b"fail" in request:
            raise OutsideError("memory", found="gone", allowed="an answer", next_step="look")
        return b'{"result": 1}'

    with serve(
        _answer, socket_path=door, record_path=tmp_path / "w", token="t", call_memory=memory
    ):
        assert _ask(door, "/mcp", b'{"a": 1}') == (200, b'{"result": 1}')
        assert _ask(door, "/mcp", b'{"notify": 1}') == (202, b"")
        assert _ask(door, "/mcp", b'{"fail": 1}')[0] == 502
    assert len(seen) == 3


def test_the_scripted_model_is_served_on_loopback_too(tmp_path: Path) -> None:
    with serve_loopback(_answer, token="t", record_path=tmp_path / "w") as address:
        request = urllib.request.Request(
            f"{address}/chat/completions",
            json.dumps(BODY).encode(),
            {"Authorization": "Bearer t"},
        )
        with urllib.request.urlopen(request, timeout=10) as response:
            assert json.load(response)["system_fingerprint"] == "scripted"


def test_a_cut_last_line_of_a_record_is_left_out_only_where_a_crash_is_known(
    tmp_path: Path,
) -> None:
    door, record = tmp_path / "s", tmp_path / "wire.jsonl"
    with serve(_answer, socket_path=door, record_path=record, token="t"):
        for _ in range(2):
            _ask(door, CHAT, json.dumps(BODY).encode())
    record.write_bytes(record.read_bytes()[:-7])
    assert len(read_wire(record, cut_is_expected=True)) == 1
    with pytest.raises(InputError, match="line 2"):
        read_wire(record)


def test_a_socket_path_that_is_too_long_says_so(tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 100)
    folder.mkdir()
    with (
        pytest.raises(OutsideError) as caught,
        serve(_answer, socket_path=folder / "s", record_path=tmp_path / "w", token="t"),
    ):
        pass
    assert "107" in caught.value.allowed
