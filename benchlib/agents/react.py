"""A small agent: think, call tools, read what they say, until it finishes.

Usage: ``python3 react.py TASK.json STEP SOCKET``. The model is reached over the Unix
socket and nothing else. The session is a journal in the home folder; a later step goes
on in it. This file needs the standard library alone and may be imported for its loop.
Exit status: 0 finished or out of steps, 75 the model side failed, 2 bad arguments.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VERSION = "1"
PROVIDER_FAILED = 75  # EX_TEMPFAIL of sysexits.h: what was asked for may work another time
JOURNAL = ".session/journal.jsonl"

SYSTEM_PROMPT = (
    "You work in a project folder with the tools that you are given. Look before you change "
    "anything. Check your work. Call finish with a short answer when you are done."
)
LONGEST_RESULT = 16_000  # characters of a tool's result that the model sees
COMMAND_SECONDS = 60
_RETRIES = (0.2, 1.0, 3.0)  # seconds before another try of a request that may work later

Json = Any  # what the wire and the journal hold; every use checks what it takes
Chat = Callable[[Sequence[Mapping[str, Json]], Sequence[Mapping[str, Json]]], Mapping[str, Json]]
Record = Callable[[Mapping[str, Json]], None]


class ProviderError(Exception):
    """The model side did not answer, or answered with an error."""


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
        if not answer["calls"]:
            return "answered"
        for call in answer["calls"]:
            result = call_tool(by_name, call)
            record({"type": "result", **result})
            messages.append(tool_message(result))
        if any(call["name"] in by_name and by_name[call["name"]].ends for call in answer["calls"]):
            return "finished"
    return "out-of-steps"


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
        lines = (folder / text_of(arguments, "path")).read_text(errors="replace").splitlines()
        first = number_of(arguments, "offset", 1)
        return "\n".join(lines[first - 1 : first - 1 + number_of(arguments, "limit", 400)])

    def write(arguments: Mapping[str, Json]) -> str:
        path = folder / text_of(arguments, "path")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text_of(arguments, "content"), encoding="utf-8")
        return f"wrote {text_of(arguments, 'path')}"

    def search(arguments: Mapping[str, Json]) -> str:
        found = search_files(folder, text_of(arguments, "pattern"), arguments.get("path") or ".")
        return "\n".join(found) or "nothing found"

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


def run_command(command: str, folder: Path) -> str:
    """Run a shell command; its output and exit status are the result."""
    process = subprocess.Popen(
        ["sh", "-c", command],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=COMMAND_SECONDS)
        ending = f"exit status {process.returncode}"
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        ending = f"stopped after {COMMAND_SECONDS} s"
    return f"{output.decode(errors='replace')}\n[{ending}]"


def search_files(folder: Path, pattern: str, start: str) -> list[str]:
    """Return matching lines as ``path:line: text``, at most 200, in the order of paths."""
    compiled = re.compile(pattern)
    found: list[str] = []
    for path in sorted(_files(folder / start)):
        for number, line in enumerate(_lines(path), start=1):
            if compiled.search(line):
                found.append(f"{path.relative_to(folder)}:{number}: {line.strip()[:300]}")
                if len(found) == 200:
                    return found
    return found


def _files(start: Path) -> Iterator[Path]:
    if start.is_file():
        yield start
    for parent, folders, names in os.walk(start):
        folders[:] = [name for name in folders if name != ".git"]
        yield from (Path(parent) / name for name in names)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []


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
            try:
                status, body = self._once(path, json.dumps(document).encode())
            except (OSError, http.client.HTTPException) as error:
                status, body = 0, str(error).encode()
            if status in {200, 202}:
                return json.loads(body) if body else {}
            problem = f"status {status}: {body.decode(errors='replace')[:2000]}"
            if wait is None or (status and status != 429 and status < 500):
                break
            time.sleep(wait)
        raise ProviderError(f"{path}: {problem}")

    def _once(self, path: str, body: bytes) -> tuple[int, bytes]:
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
            return response.status, response.read()
        finally:
            connection.close()


def chat_over(door: Door, model: str, seed: int) -> Chat:
    """Return a function that asks the model behind a door."""

    def chat(
        messages: Sequence[Mapping[str, Json]], tools: Sequence[Mapping[str, Json]]
    ) -> dict[str, Json]:
        request = {"model": model, "seed": seed, "messages": messages, "tools": tools}
        body = door.post("/v1/chat/completions", request)
        try:
            message = body["choices"][0]["message"]
            calls = [
                {
                    "id": call["id"],
                    "name": call["function"]["name"],
                    "arguments": call["function"]["arguments"],
                }
                for call in message.get("tool_calls") or []
            ]
            content, usage = message.get("content") or "", body.get("usage") or {}
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise ProviderError(f"an answer of another shape: {error!r}") from error
        return {"content": content, "calls": calls, "usage": usage}

    return chat


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
        listed = self._ask("tools/list", {})["tools"]
        return [
            Tool(
                name=one["name"],
                description=one.get("description", ""),
                parameters=one["inputSchema"],
                function=self._caller(one["name"]),
                channel="tool-pull",
            )
            for one in listed
        ]

    def recall(self, prompt: str) -> str:
        """Return what the memory has to say to a prompt."""
        return self._call("memory_search", {"query": prompt}, "prompt-retrieval")

    def _caller(self, name: str) -> Callable[[Mapping[str, Json]], str]:
        return lambda arguments: self._call(name, arguments, "tool-pull")

    def _call(self, name: str, arguments: Mapping[str, Json], channel: str) -> str:
        result = self._ask(
            "tools/call", {"name": name, "arguments": arguments, "_meta": {"channel": channel}}
        )
        texts = [part.get("text", "") for part in result.get("content", [])]
        return ("error: " if result.get("isError") else "") + "\n".join(texts)

    def _ask(self, method: str, params: Mapping[str, Json]) -> Json:
        self._number += 1
        request = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        response = self._door.post("/mcp", request)
        if "error" in response:
            raise ValueError(str(response["error"].get("message", response["error"])))
        return response["result"]


class Session:
    """The journal of a session: what was said so far, and where to write what comes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.lines: list[dict[str, Json]] = []
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    self.lines.append(json.loads(line))
                except ValueError:
                    break  # cut when the session was ended: what follows was never there

    def record(self, line: Mapping[str, Json]) -> None:
        """Write one line; it is with the system when this returns."""
        self.lines.append(dict(line))
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")

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

    def has_prompt(self, step: int) -> bool:
        """Tell whether a step of the task has begun."""
        return any(line.get("role") == "user" and line["task_step"] == step for line in self.lines)

    def unanswered(self) -> list[dict[str, Json]]:
        """Return the calls of the last answer that have no result yet."""
        answered = {line["call_id"] for line in self.lines if line["type"] == "result"}
        answers = [line for line in self.lines if line["type"] == "answer"]
        calls = answers[-1]["calls"] if answers else []
        return [call for call in calls if call["id"] not in answered]


def run_step(task: Mapping[str, Json], step: int, door: Door, session: Session) -> str:
    """Take one step of a task in its session."""

    def say(role: str, content: str, channel: str | None = None) -> None:
        line = {"type": "message", "role": role, "content": content, "task_step": step}
        session.record({**line, "channel": channel})

    tools = workspace_tools(Path.cwd())
    memory = Memory(door) if task["memory_tools"] or task["memory_retrieval"] else None
    if memory and task["memory_tools"]:
        tools += memory.tools()
    if not session.lines:
        say("system", SYSTEM_PROMPT)
    prompt = task["prompts"][step - 1]
    if not session.has_prompt(step):
        if memory and task["memory_retrieval"]:
            say("system", memory.recall(prompt), "prompt-retrieval")
        say("user", prompt)
    for call in session.unanswered():
        session.record({"type": "result", **call_tool({tool.name: tool for tool in tools}, call)})
    reason = run_loop(
        chat_over(door, task["model"], task["seed"]),
        tools,
        session.messages(),
        max_steps=task["max_steps"],
        record=session.record,
    )
    session.record({"type": "end", "task_step": step, "reason": reason})
    return reason


def main(arguments: Sequence[str]) -> int:
    """Take the step of the task that the command line names."""
    if len(arguments) != 3 or not arguments[1].isdigit():
        sys.stderr.write("usage: react.py TASK.json STEP SOCKET\n")
        return 2
    task = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    session = Session(Path(os.environ["HOME"]) / JOURNAL)
    try:
        reason = run_step(task, int(arguments[1]), Door(arguments[2], task["token"]), session)
    except ProviderError as error:
        session.record({"type": "end", "task_step": int(arguments[1]), "reason": "provider-failed"})
        sys.stderr.write(f"{error}\n")
        return PROVIDER_FAILED
    sys.stdout.write(f"{reason}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
