"""A real door, a real scripted policy, and the real agent as a process of its own."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchlib.agents import ReactAdapter
from benchlib.contracts.attempt import ProcessRecord
from benchlib.contracts.boundaries import ArmPaths, Task, Turn
from benchlib.contracts.trajectory import Trajectory
from benchlib.contracts.usage import Usage
from benchlib.gateway import (
    Answer,
    CallMemory,
    ChatAnswer,
    ChatRequest,
    Exchange,
    read_wire,
    serve,
)
from benchlib.gateway.openai import Call

NOTE = "Label width\nThe carrier cuts labels at 58 mm."


def marked(text: str, item: str, channel: str) -> str:
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    opening = f"<!-- memory channel={channel} item={item} sha256={digest} -->"
    return f"{opening}\n{text}\n<!-- /memory item={item} -->"


@dataclass
class Notes:
    """A memory's tool server with one note; behaves as the protocol says, unless told not to."""

    text: str | None = NOTE
    seen: list[dict[str, object]] = field(default_factory=list)
    tool: str = "memory_search"
    fails: str = ""  # a method that is answered with an error

    def __call__(self, body: bytes) -> bytes:
        request = json.loads(body)
        self.seen.append(request)
        if "id" not in request:
            return b""
        answer: dict[str, object] = {"jsonrpc": "2.0", "id": request["id"]}
        if request["method"] == self.fails:
            answer["error"] = {"code": -32603, "message": "no"}
        else:
            answer["result"] = self._result(request)
        return json.dumps(answer).encode()

    def _result(self, request: dict[str, object]) -> dict[str, object]:
        params = request["params"]
        assert isinstance(params, dict)
        if request["method"] == "initialize":
            return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}}
        if request["method"] == "tools/list":
            schema = {"type": "object", "properties": {"query": {"type": "string"}}}
            return {"tools": [{"name": self.tool, "description": "", "inputSchema": schema}]}
        found = self.text and marked(self.text, "n-1", params["_meta"]["channel"])
        return {"content": [{"type": "text", "text": found or "nothing found"}]}


@dataclass
class Desk:
    """A workspace, a home and a door; what an arm would have, without the sandbox."""

    root: Path
    memory: CallMemory | None = None

    def __post_init__(self) -> None:
        for name in ("workspace", "home", "agent", "door"):
            (self.root / name).mkdir()

    @property
    def workspace(self) -> Path:
        return self.root / "workspace"

    @property
    def journal(self) -> Path:
        return self.root / "home" / str(ReactAdapter.log)

    @property
    def paths(self) -> ArmPaths:
        return ArmPaths(**{name: str(self.root / name) for name in ArmPaths.__annotations__})

    @property
    def arguments(self) -> list[str]:
        """What the agent's program is given for the first step; its files lie there already."""
        return list(ReactAdapter().command(task(), self.paths).steps[0][3:])

    def exchanges(self) -> tuple[Exchange, ...]:
        return read_wire(self.root / "wire.jsonl")

    def requests(self) -> list[dict[str, object]]:
        chat = "/v1/chat/completions"
        return [dict(one.request) for one in self.exchanges() if one.path == chat]

    def lines(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.journal.read_bytes().splitlines()]

    def trajectory(self, task: Task) -> Trajectory:
        return ReactAdapter().trajectory(self.journal.read_bytes(), (), task)

    @contextlib.contextmanager
    def door(self, answer: Answer, token: str = "t") -> Iterator[None]:
        with serve(
            answer,
            socket_path=self.root / "door" / "model.sock",
            record_path=self.root / "wire.jsonl",
            token=token,
            call_memory=self.memory,
        ):
            yield
        (self.root / "door" / "model.sock").unlink(missing_ok=True)

    def start(
        self, task: Task, step: int, *, python: str = sys.executable
    ) -> subprocess.Popen[bytes]:
        adapter = ReactAdapter()
        for name, data in adapter.agent_files(task).items():
            (self.root / "agent" / name).write_bytes(data)
        argv = adapter.command(task, self.paths).steps[step - 1]
        return subprocess.Popen(
            [python, *argv[1:]],
            cwd=self.workspace,
            env={"PATH": os.environ["PATH"], "HOME": str(self.root / "home"), "LANG": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def step(
        self, answer: Answer, task: Task, step: int = 1, *, python: str = sys.executable
    ) -> tuple[int, str]:
        """Run one step to its end; returns exit status and what it said on stderr."""
        with self.door(answer):
            process = self.start(task, step, python=python)
            _, err = process.communicate(timeout=60)
        return process.returncode, err.decode()


def task(
    *prompts: str,
    memory_tools: bool = False,
    memory_retrieval: bool = False,
    max_steps: int = 8,
    token: str = "t",
) -> Task:
    return Task(
        prompts=prompts or ("How wide is a label?",),
        session="s-1",
        seed=3,
        model="sample",
        max_steps=max_steps,
        memory_tools=memory_tools,
        memory_retrieval=memory_retrieval,
        token=token,
    )


def turn(stdout: bytes = b"", stderr: bytes = b"", *, cut: int = 0) -> Turn:
    record = ProcessRecord(
        argv=("sh",),
        exit_status=0,
        signal=None,
        timed_out=False,
        milliseconds=1,
        stdout_bytes=len(stdout) + cut,
        stderr_bytes=len(stderr),
        survivors=(),
    )
    return Turn(record, stdout, stderr)


@dataclass
class Play:
    """A back end that gives prepared answers in turn; each is a list of calls, or words."""

    answers: Sequence[str | list[tuple[str, str]]]
    taken: int = 0

    def __call__(self, request: ChatRequest) -> ChatAnswer:
        del request
        answer = self.answers[min(self.taken, len(self.answers) - 1)]
        self.taken += 1
        words, calls = (answer, []) if isinstance(answer, str) else ("", answer)
        return ChatAnswer(
            model="play",
            content=words,
            calls=tuple(
                Call(f"c{self.taken}-{n}", name, text) for n, (name, text) in enumerate(calls)
            ),
            usage=Usage(input_tokens=self.taken, output_tokens=1, requests=1),
        )
