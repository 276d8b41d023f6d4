"""A small agent: think, call tools, read what they say, until it finishes.

Usage: ``python3 react.py TASK.json STEP SOCKET``. The model is reached over the Unix
socket and nothing else. The session is a journal in the home folder; a later step goes
on in it. This file needs the standard library alone and may be imported for its loop.
Exit status: 0 finished or out of steps, 75 the model side failed, 2 bad arguments.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import selectors
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any

VERSION = "1"
PROVIDER_FAILED = 75  # EX_TEMPFAIL of sysexits.h: what was asked for may work another time
JOURNAL = ".session/journal.jsonl"

SYSTEM_PROMPT = (
    "You work in a project folder with the tools that you are given. Look before you change "
    "anything. Check your work. Call finish with a short answer when you are done."
)
LONGEST_RESULT = 16_000  # characters of a tool's result that the model sees
COMMAND_SECONDS = 60
_MOST_LINES = 2000  # of one reading
_MOST_MATCHES = 200
_LONGEST_LINE = 8192  # bytes; a longer line is read in pieces, so that no file fills the memory
_LARGEST_SEARCHED = 4 * 1024 * 1024
_RETRIES = (0.2, 1.0, 3.0)  # seconds before another try of a request that may work later
_LONGEST_WAIT = 30.0  # however long the model side asks us to wait
_MARK = "<!-- memory "  # every text that a memory gives starts with its mark
_INTERRUPTED = "error: the session was interrupted; whether this call took effect is unknown"

Json = Any  # what the wire and the journal hold; every use checks what it takes
Chat = Callable[[Sequence[Mapping[str, Json]], Sequence[Mapping[str, Json]]], Mapping[str, Json]]
Record = Callable[[Mapping[str, Json]], None]


class ProviderError(Exception):
    """The model side, or the memory beside it, did not answer, or answered with an error."""


class RefusedCallError(ValueError):
    """A memory's server refused one call; the model may read why."""


@dataclass(frozen=True)
class Tool:
    """Something that the model may call."""

    name: str
    description: str
    parameters: Mapping[str, Json]  # a JSON Schema
    function: Callable[[Mapping[str, Json]], str]
    channel: str | None = None  # of a memory's tool
    ends: bool = False

    def definition(self) -> dict[str, Json]:
        """Return the tool as a request offers it."""
        function = {
            "name": self.name,
            "description": self.description,
            "parameters": dict(self.parameters),
        }
        return {"type": "function", "function": function}


def run_loop(
    chat: Chat,
    tools: Sequence[Tool],
    messages: list[dict[str, Json]],
    *,
    max_steps: int,
    record: Record,
) -> str:
    """Ask the model and do what it says, until it finishes or has no steps left.

    Args:
        chat: Sends messages and tool definitions, returns ``content``, ``calls``, ``usage``.
        tools: What the model may call.
        messages: The conversation so far; grows.
        max_steps: How many answers it may take.
        record: Told of each answer and result before the next request.

    Returns:
        ``finished``, ``answered`` (words and no call) or ``out-of-steps``.

    Raises:
        ProviderError: The model side failed.
    """
    by_name = {tool.name: tool for tool in tools}
    definitions = [tool.definition() for tool in tools]
    for _ in range(max_steps):
        answer = chat(messages, definitions)
        record({"type": "answer", **answer})
        messages.append(assistant_message(answer))
        for call in answer["calls"]:
            result = call_tool(by_name, call)
            record({"type": "result", **result})
            messages.append(tool_message(result))
        reason = conclusion(by_name, answer)
        if reason:
            return reason
    return "out-of-steps"


def conclusion(tools: Mapping[str, Tool], answer: Mapping[str, Json]) -> str | None:
    """Tell how an answer ends the step; None when it goes on."""
    if not answer["calls"]:
        return "answered"
    names = [call["name"] for call in answer["calls"]]
    return "finished" if any(name in tools and tools[name].ends for name in names) else None


def assistant_message(answer: Mapping[str, Json]) -> dict[str, Json]:
    """Return an answer as the next request repeats it."""
    message: dict[str, Json] = {"role": "assistant", "content": answer["content"]}
    if answer["calls"]:
        message["tool_calls"] = [
            {
                "id": call["id"],
                "type": "function",
                "function": {"name": call["name"], "arguments": call["arguments"]},
            }
            for call in answer["calls"]
        ]
    return message


def tool_message(result: Mapping[str, Json]) -> dict[str, Json]:
    """Return a tool's result as the next request holds it."""
    return {"role": "tool", "tool_call_id": result["call_id"], "content": result["content"]}


def call_tool(tools: Mapping[str, Tool], call: Mapping[str, Json]) -> dict[str, Json]:
    """Do one call; whatever is wrong with it is its result, for the model to read."""
    tool = tools.get(call["name"])
    try:
        if tool is None:
            content = f"error: there is no tool {call['name']!r}; there are {', '.join(tools)}"
        else:
            content = tool.function(_arguments(call["arguments"]))
    except (OSError, ValueError, TypeError, KeyError, RecursionError, re.error) as error:
        content = f"error: {type(error).__name__}: {error}"
    return {
        "call_id": call["id"],
        "name": call["name"],
        "content": cut(content),
        "channel": tool.channel if tool else None,
    }


def _arguments(text: str) -> dict[str, Json]:
    arguments = json.loads(text or "{}")
    if not isinstance(arguments, dict):
        raise TypeError("arguments: an object")
    return arguments


def cut(text: str) -> str:
    """Keep the head and the tail of a long text, and say how much is missing."""
    text = text.encode(errors="replace").decode()
    if len(text) <= LONGEST_RESULT:
        return text
    half = LONGEST_RESULT // 2
    return f"{text[:half]}\n… {len(text) - 2 * half} characters left out …\n{text[-half:]}"


def workspace_tools(folder: Path) -> list[Tool]:
    """Return the five tools of a project folder."""

    def run(arguments: Mapping[str, Json]) -> str:
        return run_command(text_of(arguments, "command"), folder)

    def read(arguments: Mapping[str, Json]) -> str:
        path = folder / text_of(arguments, "path")
        first, limit = number_of(arguments, "offset", 1), number_of(arguments, "limit", 400)
        return read_lines(path, first, min(limit, _MOST_LINES))

    def write(arguments: Mapping[str, Json]) -> str:
        write_file(folder / text_of(arguments, "path"), text_of(arguments, "content"))
        return f"wrote {text_of(arguments, 'path')}"

    def search(arguments: Mapping[str, Json]) -> str:
        start = text_of(arguments, "path") if "path" in arguments else "."
        return search_within_limits(folder, text_of(arguments, "pattern"), start)

    text, number = {"type": "string"}, {"type": "integer", "minimum": 1}
    return [
        Tool("run", "Run a shell command in the project folder.", _schema(command=text), run),
        Tool(
            "read",
            "Read lines of a file.",
            _schema(optional=("offset", "limit"), path=text, offset=number, limit=number),
            read,
        ),
        Tool("write", "Write a file, whole.", _schema(path=text, content=text), write),
        Tool(
            "search",
            "Search files for a regular expression.",
            _schema(optional=("path",), pattern=text, path=text),
            search,
        ),
        Tool(
            "finish",
            "Say that you are done.",
            _schema(answer=text),
            lambda arguments: text_of(arguments, "answer"),
            ends=True,
        ),
    ]


def _schema(optional: Sequence[str] = (), **properties: Mapping[str, Json]) -> dict[str, Json]:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required}


def text_of(arguments: Mapping[str, Json], name: str) -> str:
    """Return a text argument.

    Raises:
        TypeError: It is missing or no text.
    """
    value = arguments.get(name)
    if not isinstance(value, str):
        raise TypeError(f"{name}: text")
    return value


def number_of(arguments: Mapping[str, Json], name: str, default: int) -> int:
    """Return a whole-number argument of 1 or more.

    Raises:
        TypeError: It is no such number.
    """
    value = arguments.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise TypeError(f"{name}: a whole number, 1 or more")
    return value


def read_lines(path: Path, first: int, limit: int) -> str:
    """Return some lines of a regular file; nothing else is opened, for a pipe would wait."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with _regular(descriptor, "rb") as file:
        pieces = iter(lambda: file.readline(_LONGEST_LINE), b"")
        lines = list(islice(pieces, first - 1, first - 1 + limit))
    return b"".join(lines).decode(errors="replace").rstrip("\n")


def write_file(path: Path, content: str) -> None:
    """Write a regular file, whole, with the folders above it."""
    data = content.encode()  # before the file is emptied: a lone surrogate can't be written
    path.parent.mkdir(parents=True, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK
    with _regular(os.open(path, flags, 0o666), "wb") as file:
        file.write(data)


def _regular(descriptor: int, mode: str) -> IO[bytes]:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError("no regular file")
    return os.fdopen(descriptor, mode)


def run_command(command: str, folder: Path) -> str:
    """Run a shell command; its output and exit status are the result."""
    output, status = run_bounded(["sh", "-c", command], folder)
    ending = f"stopped after {COMMAND_SECONDS} s" if status is None else f"exit status {status}"
    return f"{output}\n[{ending}]"


def run_bounded(argv: Sequence[str], folder: Path) -> tuple[str, int | None]:
    """Run a program and return what it printed, cut, and its status.

    What it left running may hold its output open; that is not waited for. After
    ``COMMAND_SECONDS`` its process group is killed and the status is None.
    """
    process = subprocess.Popen(
        argv,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    output = _Output()
    if process.stdout is None:
        raise OSError("no pipe")
    with process.stdout as stream:
        ended = _watch(process, stream.fileno(), output)
    if not ended:
        with contextlib.suppress(ProcessLookupError):  # it may end just now
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return output.text(), process.returncode if ended else None


class _Output:
    """The head and the tail of what a program prints, however much it is."""

    _HALF = LONGEST_RESULT // 2 - 200

    def __init__(self) -> None:
        self._head = b""
        self._tail = b""
        self._size = 0

    def add(self, data: bytes) -> None:
        room = self._HALF - len(self._head)
        self._head += data[:room]
        self._tail = (self._tail + data[room:])[-self._HALF :]
        self._size += len(data)

    def text(self) -> str:
        missing = self._size - len(self._head) - len(self._tail)
        gap = f"\n… {missing} bytes left out …\n".encode() if missing else b""
        return (self._head + gap + self._tail).decode(errors="replace")


def _watch(process: subprocess.Popen[bytes], descriptor: int, output: _Output) -> bool:
    """Read until the program ends or its time is up; tell whether it ended."""
    deadline = time.monotonic() + COMMAND_SECONDS
    is_open, has_ended = True, False
    with selectors.DefaultSelector() as ready:
        ready.register(descriptor, selectors.EVENT_READ)
        while time.monotonic() < deadline:
            if not has_ended and process.poll() is not None:
                has_ended = True
                deadline = min(deadline, time.monotonic() + 0.2)  # for what is still in the pipe
            if has_ended and not (is_open and ready.select(0)):
                return True
            if not is_open:
                time.sleep(0.01)
            elif ready.select(0.02):
                data = os.read(descriptor, 65_536)
                output.add(data)
                is_open = bool(data)
    return has_ended


def search_within_limits(folder: Path, pattern: str, start: str) -> str:
    """Search in a process of its own, for a pattern can take for ever."""
    argv = [sys.executable, "-I", "-S", __file__, "--search", pattern, start]
    output, status = run_bounded(argv, folder)
    if status is None:
        return f"error: the search took more than {COMMAND_SECONDS} s"
    return output.rstrip("\n") or "nothing found"


def search_files(folder: Path, pattern: str, start: str) -> Iterator[str]:
    """Yield matching lines as ``path:line: text``, in the order of paths."""
    compiled = re.compile(pattern)
    count = 0
    for path in sorted(_files(folder / start)):
        for number, line in enumerate(_lines(path), start=1):
            if compiled.search(line):
                count += 1
                if count > _MOST_MATCHES:
                    yield f"… only the first {_MOST_MATCHES} are shown"
                    return
                yield f"{os.path.relpath(path, folder)}:{number}: {line.strip()[:300]}"


def _files(start: Path) -> Iterator[Path]:
    if not start.exists():
        raise OSError(f"there is no {start.name!r}")
    if start.is_file():
        yield start
    for parent, folders, names in os.walk(start):
        folders[:] = [name for name in folders if name != ".git"]
        yield from (Path(parent) / name for name in names)


def _lines(path: Path) -> list[str]:
    """Return the lines of a text file; links, pipes, large and binary files have none."""
    status = path.lstat()
    if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST_SEARCHED:
        return []
    try:
        return path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError):
        return []


def _search_main(pattern: str, start: str) -> int:
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # a text stream
    try:
        for line in search_files(Path.cwd(), pattern, start):
            sys.stdout.write(line + "\n")
    except (OSError, ValueError, re.error, RecursionError, OverflowError) as error:
        sys.stdout.write(f"error: {type(error).__name__}: {error}\n")
    return 0


class Door:
    """The Unix socket behind which the model, and perhaps a memory, answer."""

    def __init__(self, path: str, token: str) -> None:
        self._path = path
        self._token = token

    def post(self, path: str, document: Mapping[str, Json]) -> Json:
        """Send one JSON object and return the one that comes back.

        Raises:
            ProviderError: Nobody answers, or with an error; after some tries where it may pass.
        """
        problem = ""
        for wait in (*_RETRIES, None):
            asked = 0.0
            try:
                status, body, asked = self._once(path, json.dumps(document).encode())
            except OSError as error:
                status, body = 0, str(error).encode()
            if status in {200, 202}:
                return _document(path, body)
            problem = f"status {status}: {body.decode(errors='replace')[:2000]}"
            if wait is None or (status and status != 429 and status < 500):
                break
            time.sleep(min(max(wait, asked), _LONGEST_WAIT))
        raise ProviderError(f"{path}: {problem}")

    def _once(self, path: str, body: bytes) -> tuple[int, bytes, float]:
        """Return status, body, and for how many seconds we were asked to wait."""
        import http.client  # noqa: PLC0415 - half of this file's start, which a search never needs

        connection = http.client.HTTPConnection("localhost", timeout=600)
        connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.sock.settimeout(600)
            connection.sock.connect(self._path)
            headers = {
                "Authorization": f"Bearer {self._token}",
                "Content-Type": "application/json",
            }
            connection.request("POST", path, body, headers)
            response = connection.getresponse()
            asked = response.headers.get("Retry-After", "")
            seconds = float(asked) if asked.isascii() and asked.isdigit() else 0.0
            return response.status, response.read(), seconds
        except http.client.HTTPException as error:
            raise ConnectionError(f"no HTTP: {error!r}") from error
        finally:
            connection.close()


def _document(path: str, body: bytes) -> dict[str, Json]:
    """Read an answer; lone surrogates go, for neither journal nor wire can carry them."""
    try:
        document = json.loads(body) if body else {}
        text = json.dumps(document, ensure_ascii=False)
        document = json.loads(text.encode(errors="replace"))
    except (ValueError, RecursionError) as error:
        raise ProviderError(f"{path}: an answer that is no JSON: {error}") from error
    if not isinstance(document, dict):
        raise ProviderError(f"{path}: an answer that is no JSON object")
    return document


def chat_over(door: Door, model: str, seed: int) -> Chat:
    """Return a function that asks the model behind a door."""

    def chat(
        messages: Sequence[Mapping[str, Json]], tools: Sequence[Mapping[str, Json]]
    ) -> dict[str, Json]:
        request = {"model": model, "seed": seed, "messages": messages, "tools": tools}
        body = door.post("/v1/chat/completions", request)
        try:
            return _answer(body)
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise ProviderError(f"an answer of another shape: {error!r}") from error

    return chat


def _answer(body: Mapping[str, Json]) -> dict[str, Json]:
    message = body["choices"][0]["message"]
    content, reasoning = message.get("content") or "", message.get("reasoning_content")
    if not isinstance(content, str):
        raise TypeError("content: text")
    calls = [
        {
            "id": str(call.get("id") or f"call-{number}"),
            "name": str(call["function"]["name"]),
            "arguments": _as_text(call["function"].get("arguments")),
        }
        for number, call in enumerate(message.get("tool_calls") or [], start=1)
    ]
    usage = body.get("usage")
    answer = {"content": content, "calls": calls, "usage": usage or {}}
    return {**answer, "reasoning": reasoning} if isinstance(reasoning, str) else answer


def _as_text(arguments: Json) -> str:
    """Some servers send arguments as an object, or none at all."""
    return arguments if isinstance(arguments, str) else json.dumps(arguments or {})


class Memory:
    """A memory's tools behind the door, spoken to as a server of the Model Context Protocol."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._number = 0
        self._ask(
            "initialize",
            {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "agent", "version": VERSION},
            },
        )
        self._door.post("/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"})

    def tools(self) -> list[Tool]:
        """Return its tools, for the model to call."""
        try:
            return [
                Tool(
                    name=one["name"],
                    description=one.get("description", ""),
                    parameters=one["inputSchema"],
                    function=self._caller(one["name"]),
                    channel="tool-pull",
                )
                for one in self._ask("tools/list", {})["tools"]
            ]
        except (KeyError, TypeError, AttributeError) as error:
            raise ProviderError(f"memory: a list of tools of another shape: {error!r}") from error

    def retrieve(self, prompt: str) -> str:
        """Return what the memory has to say to a prompt, marked; empty when it has nothing.

        Raises:
            ProviderError: It answers with an error: nothing found is something else.
        """
        text, is_error = self._call("memory_search", {"query": prompt}, "prompt-retrieval")
        if is_error:
            raise ProviderError(f"memory: {text}")
        lines = text.split("\n")
        marked = next((n for n, line in enumerate(lines) if line.startswith(_MARK)), len(lines))
        return "\n".join(lines[marked:])

    def _caller(self, name: str) -> Callable[[Mapping[str, Json]], str]:
        def call(arguments: Mapping[str, Json]) -> str:
            text, is_error = self._call(name, arguments, "tool-pull")
            return f"error: {text}" if is_error else text

        return call

    def _call(self, name: str, arguments: Mapping[str, Json], channel: str) -> tuple[str, bool]:
        """Return the text of a tool's result, and whether the tool says that it failed."""
        result = self._ask(
            "tools/call", {"name": name, "arguments": arguments, "_meta": {"channel": channel}}
        )
        try:
            texts = [str(part.get("text", "")) for part in result.get("content", [])]
            return "\n".join(texts), bool(result.get("isError"))
        except (TypeError, AttributeError) as error:
            raise ProviderError(f"memory: a result of another shape: {error!r}") from error

    def _ask(self, method: str, params: Mapping[str, Json]) -> Json:
        self._number += 1
        request = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        response = self._door.post("/mcp", request)
        if "error" in response:
            raise RefusedCallError(str(response["error"]))
        if "result" not in response:
            raise ProviderError(f"memory: neither result nor error: {str(response)[:500]}")
        return response["result"]


class Session:
    """The journal of a session: what was said so far, and where to write what comes.

    A last line that was cut when the session was ended was never there: it goes, so that
    the next line does not grow onto it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        data = path.read_bytes() if path.exists() else b""
        whole = data[: data.rfind(b"\n") + 1]
        if whole != data:
            os.truncate(path, len(whole))
        self.lines = [line for text in whole.splitlines() if (line := _journal_line(text))]

    def record(self, line: Mapping[str, Json]) -> None:
        """Write one line; it is with the system when this returns."""
        self.lines.append(dict(line))
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab") as file:
            file.write(json.dumps(line).encode() + b"\n")

    def messages(self) -> list[dict[str, Json]]:
        """Return the conversation, as the next request repeats it."""
        makers = {"answer": assistant_message, "result": tool_message}
        return [
            {"role": line["role"], "content": line["content"]}
            if line["type"] == "message"
            else makers[line["type"]](line)
            for line in self.lines
            if line["type"] in {"message", *makers}
        ]

    def holds(self, **fields: Json) -> bool:
        """Tell whether some line has these fields."""
        return any(fields.items() <= line.items() for line in self.lines if _is_flat(line))

    def answers(self, step: int) -> list[dict[str, Json]]:
        """Return the model's answers in a step of the task."""
        starts = [
            number
            for number, line in enumerate(self.lines)
            if line.get("role") == "user" and line["task_step"] == step
        ]
        begun = self.lines[starts[-1] :] if starts else []
        return [line for line in begun if line["type"] == "answer"]

    def unanswered(self) -> list[dict[str, Json]]:
        """Return the calls of the last answer that have no result yet."""
        answers = [number for number, line in enumerate(self.lines) if line["type"] == "answer"]
        if not answers:
            return []
        results = [line for line in self.lines[answers[-1] :] if line["type"] == "result"]
        calls: list[dict[str, Json]] = self.lines[answers[-1]]["calls"]
        return calls[len(results) :]  # results stand in the order of their calls


def _journal_line(text: bytes) -> dict[str, Json] | None:
    """Read one line; a damaged one in the middle is passed over."""
    try:
        line = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return line if isinstance(line, dict) and "type" in line else None


def _is_flat(line: Mapping[str, Json]) -> bool:
    return line["type"] in {"message", "end"}


def run_step(task: Mapping[str, Json], step: int, door: Door, session: Session) -> str:
    """Take one step of a task in its session; a step that was interrupted goes on."""

    def say(role: str, content: str, channel: str | None = None) -> None:
        line = {"type": "message", "role": role, "content": content, "task_step": step}
        session.record({**line, "channel": channel})

    tools, memory = offered(task, door)
    by_name = {tool.name: tool for tool in tools}
    if not session.lines:
        session.record({"type": "session", "tools": [tool.definition() for tool in tools]})
    if not session.holds(type="message", role="system", channel=None):
        say("system", SYSTEM_PROMPT)
    if not session.holds(type="message", role="user", task_step=step):
        prompt = task["prompts"][step - 1]
        if memory and not session.holds(channel="prompt-retrieval", task_step=step):
            found = memory.retrieve(prompt)
            if found:
                say("system", found, "prompt-retrieval")
        say("user", prompt)
    for call in session.unanswered():
        result = {"call_id": call["id"], "name": call["name"], "content": _INTERRUPTED}
        session.record({"type": "result", **result, "channel": None})
    taken = session.answers(step)
    reason = (conclusion(by_name, taken[-1]) if taken else None) or run_loop(
        chat_over(door, task["model"], task["seed"]),
        tools,
        session.messages(),
        max_steps=task["max_steps"] - len(taken),
        record=session.record,
    )
    session.record({"type": "end", "task_step": step, "reason": reason})
    return reason


def offered(task: Mapping[str, Json], door: Door) -> tuple[list[Tool], Memory | None]:
    """Return the tools of this session, and the memory to ask before each prompt.

    Raises:
        ProviderError: The memory that was promised is not there.
    """
    tools = workspace_tools(Path.cwd())
    if not (task["memory_tools"] or task["memory_retrieval"]):
        return tools, None
    try:
        memory = Memory(door)
        more = memory.tools() if task["memory_tools"] else []
    except RefusedCallError as error:
        raise ProviderError(f"memory: {error}") from error
    hidden = {tool.name for tool in tools} & {tool.name for tool in more}
    if hidden:
        raise ProviderError(f"memory: its tool {min(hidden)!r} would hide the agent's own")
    return tools + more, memory if task["memory_retrieval"] else None


def main(arguments: Sequence[str]) -> int:
    """Take the step of the task that the command line names."""
    if len(arguments) == 3 and arguments[0] == "--search":
        return _search_main(arguments[1], arguments[2])
    if len(arguments) != 3 or not arguments[1].isdigit():
        sys.stderr.write("usage: react.py TASK.json STEP SOCKET\n")
        return 2
    task = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    session = Session(Path(os.environ["HOME"]) / JOURNAL)
    try:
        reason = run_step(task, int(arguments[1]), Door(arguments[2], task["token"]), session)
    except (ProviderError, RefusedCallError) as error:
        session.record({"type": "end", "task_step": int(arguments[1]), "reason": "provider-failed"})
        sys.stderr.write(f"{error}\n")
        return PROVIDER_FAILED
    sys.stdout.write(f"{reason}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
