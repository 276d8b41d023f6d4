"""What the agent does when the model side is slow, busy, broken or talks nonsense."""

from __future__ import annotations

import contextlib
import json
import socketserver
import threading
import time
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from agents.desk import Desk, Notes, task

from benchlib.agents import PROVIDER_FAILED
from benchlib.errors import OutsideError
from benchlib.gateway import Answer

GOOD = {"choices": [{"message": {"role": "assistant", "content": "done"}}], "usage": None}
Given = tuple[int, bytes, dict[str, str]]


@contextlib.contextmanager
def _provider(path: Path, given: Sequence[Given]) -> Iterator[list[float]]:
    """A model side that answers as it is told, the last answer again and again."""
    asked: list[float] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            status, body, headers = given[min(len(asked), len(given) - 1)]
            asked.append(time.monotonic())
            self.send_response_only(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    class Server(socketserver.UnixStreamServer):
        def get_request(self) -> tuple[object, object]:  # type: ignore[override]
            return super().get_request()[0], ("x", 0)

    with Server(str(path), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield asked
        server.shutdown()
        thread.join()


def _step(desk: Desk, *given: Given) -> tuple[int, str, list[float]]:
    with _provider(desk.root / "door" / "model.sock", given) as asked:
        process = desk.start(task(), 1)
        _, err = process.communicate(timeout=60)
    return process.returncode, err.decode(), asked


def _good(**headers: str) -> Given:
    return 200, json.dumps(GOOD).encode(), headers


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_model_side_is_asked_again(desk: Desk, status: int) -> None:
    assert _step(desk, (status, b"busy", {}), _good())[0] == 0
    assert desk.lines()[-1]["reason"] == "answered"


def test_a_model_side_that_says_how_long_is_given_that_time(desk: Desk) -> None:
    status, _, asked = _step(desk, (429, b"busy", {"Retry-After": "1"}), _good())
    assert status == 0
    assert asked[1] - asked[0] >= 1


@pytest.mark.parametrize("wait", ["-1", "soon", "Wed, 21 Oct 2015 07:28:00 GMT", "\xb2"])
def test_a_time_that_is_none_is_passed_over(desk: Desk, wait: str) -> None:
    assert _step(desk, (429, b"busy", {"Retry-After": wait}), _good())[0] == 0


def test_a_model_side_that_stays_broken_is_given_up(desk: Desk) -> None:
    status, err, asked = _step(desk, (500, b"out of order", {}))
    assert status == PROVIDER_FAILED
    assert "out of order" in err
    assert len(asked) == 4
    assert desk.lines()[-1]["reason"] == "provider-failed"


NONSENSE = [
    b"",
    b"<html>",
    b"[]",
    b"{}",
    b'{"choices": []}',
    b'{"choices": [{"message": null}]}',
    b'{"choices": [{"message": {"content": ["parts"]}}]}',
    b'{"choices": [{"message": {"tool_calls": [{"id": "x"}]}}]}',
    b'{"choices": [{"message": {"tool_calls": 4}}]}',
    b"[" * 100_000,
    b"\xff",
]


@pytest.mark.parametrize("body", NONSENSE)
def test_an_answer_of_another_shape_is_a_failing_provider(desk: Desk, body: bytes) -> None:
    status, err, _ = _step(desk, (200, body, {}))
    assert status == PROVIDER_FAILED
    assert "Traceback" not in err


def test_lone_surrogates_and_missing_ids_of_an_answer_do_no_harm(desk: Desk) -> None:
    call = {"function": {"name": "run", "arguments": {"command": "echo \ud800"}}}
    message = {"content": "half \ud83d", "tool_calls": [call, call]}
    answer = json.dumps({"choices": [{"message": message}]}).encode()
    status, err, _ = _step(desk, (200, answer, {}), _good())
    assert (status, err) == (0, "")
    (acting,) = [step for step in desk.trajectory(task()).steps if step.tool_calls]
    assert acting.message == "half ?"
    assert acting.observation is not None
    assert [result.source_call_id for result in acting.observation.results] == ["call-1", "call-2"]


def test_a_memory_that_fails_for_a_moment_is_asked_again(desk: Desk, sample: Answer) -> None:
    notes, failures = Notes(), [1, 1]

    def memory(body: bytes) -> bytes:
        if failures:
            failures.pop()
            raise OutsideError("memory", found="gone", allowed="an answer", next_step="look")
        return notes(body)

    desk.memory = memory
    assert desk.step(sample, task(memory_tools=True)) == (0, "")
    assert (desk.workspace / "answer.txt").read_text() == "58\n"
