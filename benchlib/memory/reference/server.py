"""The tools of a memory for an agent: an MCP server on stdin and stdout, one line a message.

Three tools, all of which only read. Each item that is found is printed between its marks,
whose channel is ``tool-pull`` unless the caller's ``_meta.channel`` says
``prompt-retrieval``. Nothing that is printed says what this is used for.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO

from benchlib.memory.reference import search
from benchlib.memory.reference.content import Json, Node
from benchlib.memory.reference.store import open_project

_VERSIONS = ("2025-06-18", "2025-03-26", "2024-11-05")  # of the protocol, newest first
_CHANNELS = ("tool-pull", "prompt-retrieval")
_LONGEST_LINE = 1024 * 1024
_MOST_ITEMS, _USUAL_ITEMS = 20, 5
_PARSE, _INVALID, _METHOD, _PARAMS = -32700, -32600, -32601, -32602
Object = dict[str, Json]

_ID_SCHEMA: Object = {
    "type": "object",
    "properties": {"id": {"type": "string", "description": "The item's id."}},
    "required": ["id"],
    "additionalProperties": False,
}
_TOOLS: list[Json] = [
    {
        "name": "memory_search",
        "description": "Search notes from earlier work by words or by a question.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "Words or a question."},
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": _MOST_ITEMS,
                    "description": f"How many notes at most; {_USUAL_ITEMS} if left out.",
                },
            },
            "required": ["query"],
            "additionalProperties": False,
        },
    },
    {
        "name": "memory_get",
        "description": "Read one note by its id.",
        "inputSchema": _ID_SCHEMA,
    },
    {
        "name": "memory_neighbours",
        "description": "List the notes that are linked with a note.",
        "inputSchema": _ID_SCHEMA,
    },
]


class _RpcError(Exception):
    """A message that gets an error for an answer."""

    def __init__(self, code: int, message: str) -> None:
        self.code = code
        super().__init__(message)


class _ToolError(Exception):
    """A call that a tool can't answer; the agent reads why."""


def serve(folder: Path, requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer one request a line until the input ends.

    Args:
        folder: The project's folder.
        requests: JSON-RPC requests, one a line.
        answers: Gets one line for each request that has an id.
    """
    server = _Server(open_project(folder))
    while line := requests.readline(_LONGEST_LINE + 1):
        answer = server.answer(line)
        if answer is not None:
            answers.write(json.dumps(answer, ensure_ascii=False).encode() + b"\n")
            answers.flush()


class _Server:
    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._methods: Mapping[str, Callable[[Object], Object]] = {
            "initialize": self._initialize,
            "ping": lambda _: {},
            "tools/list": lambda _: {"tools": _TOOLS},
            "tools/call": self._call,
        }
        self._tools: Mapping[str, Callable[[Object, str], str]] = {
            "memory_search": self._search,
            "memory_get": self._get,
            "memory_neighbours": self._neighbours,
        }

    def answer(self, line: bytes) -> Object | None:
        """Return the response to one line; None for a notification."""
        request: Json = None
        try:
            request = _parsed(line)
            if "id" not in request:
                return None
            return {"jsonrpc": "2.0", "id": request["id"], "result": self._result(request)}
        except _RpcError as error:
            own_id = request.get("id") if isinstance(request, dict) else None
            problem: Json = {"code": error.code, "message": str(error)}
            return {"jsonrpc": "2.0", "id": own_id, "error": problem}

    def _result(self, request: Object) -> Object:
        method, params = request.get("method"), request.get("params", {})
        if request.get("jsonrpc") != "2.0" or not isinstance(method, str):
            raise _RpcError(_INVALID, "not a JSON-RPC 2.0 request")
        if method not in self._methods:
            raise _RpcError(_METHOD, f"there is no method {method!r}")
        if not isinstance(params, dict):
            raise _RpcError(_PARAMS, "params is not an object")
        return self._methods[method](params)

    def _initialize(self, params: Object) -> Object:
        asked = params.get("protocolVersion")
        return {
            "protocolVersion": asked if asked in _VERSIONS else _VERSIONS[0],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "memory", "version": "1"},
        }

    def _call(self, params: Object) -> Object:
        name, arguments = params.get("name"), params.get("arguments", {})
        if not isinstance(name, str) or name not in self._tools:
            raise _RpcError(_PARAMS, f"there is no tool {name!r}")
        if not isinstance(arguments, dict):
            raise _RpcError(_PARAMS, "arguments is not an object")
        channel = _channel(params)
        try:
            text, is_error = self._tools[name](arguments, channel), False
        except _ToolError as error:
            text, is_error = str(error), True
        return {"content": [{"type": "text", "text": text}], "isError": is_error}

    def _search(self, arguments: Object, channel: str) -> str:
        _refuse_unknown(arguments, {"query", "limit"})
        query, limit = _text(arguments, "query"), arguments.get("limit", _USUAL_ITEMS)
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= _MOST_ITEMS:
            raise _ToolError(f"limit is not a whole number from 1 to {_MOST_ITEMS}")
        found = search.search(self._database, query, limit)
        return self._printed([hit.id for hit in found], channel)

    def _get(self, arguments: Object, channel: str) -> str:
        _refuse_unknown(arguments, {"id"})
        return self._printed([self._known(arguments)], channel)

    def _neighbours(self, arguments: Object, channel: str) -> str:
        _refuse_unknown(arguments, {"id"})
        node = self._known(arguments)
        rows = self._database.execute(
            "SELECT src, rel, dst FROM edge WHERE src = ?1 OR dst = ?1 ORDER BY src, rel, dst",
            (node,),
        )
        links = [f"{source} {relation} {target}" for source, relation, target in rows]
        near = [hit.id for hit in search.neighbours(self._database, node, depth=1)]
        return "\n\n".join([self._printed(near, channel), *links])

    def _known(self, arguments: Object) -> str:
        node = _text(arguments, "id")
        if not self._database.execute("SELECT 1 FROM node WHERE id = ?", (node,)).fetchone():
            raise _ToolError(f"There is no note {node!r}.")
        return node

    def _printed(self, ids: list[str], channel: str) -> str:
        return "\n\n".join(_marked(self._node(one), channel) for one in ids) or "Nothing found."

    def _node(self, node: str) -> Node:
        row = self._database.execute(
            "SELECT id, kind, title, body FROM node WHERE id = ?", (node,)
        ).fetchone()
        return Node(*row)


def _parsed(line: bytes) -> Object:
    if len(line) > _LONGEST_LINE:
        raise _RpcError(_INVALID, "the line is too long")
    try:
        request = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _RpcError(_PARSE, "not JSON") from error
    if not isinstance(request, dict):
        raise _RpcError(_INVALID, "not an object")
    return request


def _channel(params: Object) -> str:
    meta = params.get("_meta", {})
    channel = meta.get("channel", _CHANNELS[0]) if isinstance(meta, dict) else None
    if not isinstance(channel, str) or channel not in _CHANNELS:
        raise _RpcError(_PARAMS, f"_meta.channel is not one of {', '.join(_CHANNELS)}")
    return channel


def _text(arguments: Object, name: str) -> str:
    value = arguments.get(name)
    if not isinstance(value, str) or not value.strip():
        raise _ToolError(f"{name} is not a text")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise _ToolError(f"{name} holds a lone surrogate") from error
    return value


def _refuse_unknown(arguments: Object, known: set[str]) -> None:
    unknown = sorted(set(arguments) - known)
    if unknown:
        raise _ToolError(f"there is no argument {unknown[0]!r}")


def _marked(node: Node, channel: str) -> str:
    digest = hashlib.sha256(node.text.encode()).hexdigest()[:12]
    return (
        f"<!-- memory channel={channel} item={node.id} sha256={digest} -->\n"
        f"{node.text}\n<!-- /memory item={node.id} -->"
    )
