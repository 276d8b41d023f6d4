"""The tools of a restored memory: its MCP server, started beside the runner, never in the arm.

The gateway hands each request of an agent to `MemoryTools.handle` and passes back what it
returns. One request at a time, bounded in size and time. The handshake is ours: it was
made before the agent's clock started, and an agent that makes it again gets the first
answer. A memory that fails answers with an error, and `faults` remembers it, for trouble
with the apparatus is not the agent's.
"""

from __future__ import annotations

import json
import os
import selectors
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from benchlib.contracts.cohort import Provisioner
from benchlib.contracts.reading import Json
from benchlib.errors import InWords, OutsideError, escaped
from benchlib.memory._calls import PairFolder
from benchlib.processes import Service

PROTOCOL_VERSION = "2025-06-18"
START_SECONDS = 60.0
CALL_SECONDS = 60.0
LONGEST_MESSAGE_BYTES = 4 * 1024 * 1024
_CHUNK = 65_536
_SHOWN_STDERR = 2048
_NOT_AVAILABLE = -32000  # of the codes that JSON-RPC leaves to servers
_INVALID, _PARSE = -32600, -32700

Object = dict[str, Json]


class _ServerError(Exception):
    """The server ended, was silent too long, or did not keep the protocol."""


class MemoryTools:
    """The server of one memory's tools; use it as a context manager.

    Args:
        provisioner: The memory system; its ``serve`` is started with the project's name.
        project: The memory.
        working: The pair's folder, as it was given to ``restore``.
        call_seconds: How long one request may take.

    Raises:
        OutsideError: The server can't be started, or does not make the handshake.
    """

    def __init__(
        self,
        provisioner: Provisioner,
        *,
        project: str,
        working: Path,
        call_seconds: float = CALL_SECONDS,
    ) -> None:
        self.faults: list[str] = []
        self._call_seconds = call_seconds
        self._one_at_a_time = threading.Lock()
        self._count = 0
        started = time.monotonic()
        folder = PairFolder(working)
        folder.make()
        self._diagnostics = _Drain(provisioner.limits.stderr_bytes)
        try:
            self._lines = _Lines(provisioner, project, folder, self._diagnostics)
        except OSError as error:
            self._diagnostics.close()
            raise self._outside(provisioner, error.strerror or str(error)) from error
        try:
            self._initialized = self._handshake()
        except _ServerError as error:
            self.close()
            raise self._outside(provisioner, str(error)) from error
        self.ready_milliseconds = int((time.monotonic() - started) * 1000)

    def handle(self, request: bytes) -> bytes:
        """Answer one JSON-RPC request of an agent.

        Args:
            request: One message; its id is the agent's own.

        Returns:
            The response with the same id; empty for a notification, which gets none.
        """
        try:
            message = json.loads(request)
        except (ValueError, RecursionError):
            return _error(None, _PARSE, "not JSON")
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            return _error(None, _INVALID, "not a request")
        if "id" not in message:
            return b""
        with self._one_at_a_time:
            return self._answer(message)

    def close(self) -> None:
        """End the server and all that it started; may be called twice."""
        self._lines.close()
        self._diagnostics.close()

    @property
    def stderr_head(self) -> str:
        """The first diagnostics of the server, escaped; never parsed."""
        head = bytes(self._diagnostics.kept[:_SHOWN_STDERR])
        return escaped(head.decode(errors="replace"))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _answer(self, message: Object) -> bytes:
        own_id = message["id"]
        if message["method"] == "initialize":
            return _encoded({"jsonrpc": "2.0", "id": own_id, "result": self._initialized})
        try:
            response = self._asked(message, self._call_seconds)
        except _ServerError as error:
            self.faults.append(str(error))
            return _error(own_id, _NOT_AVAILABLE, "the memory did not answer")
        return _encoded({**response, "id": own_id})

    def _handshake(self) -> Json:
        params: Object = {
            "protocolVersion": PROTOCOL_VERSION,
            "capabilities": {},
            "clientInfo": {"name": "client", "version": "1"},
        }
        request: Object = {"jsonrpc": "2.0", "method": "initialize", "params": params}
        response = self._asked(request, START_SECONDS)
        if not isinstance(response.get("result"), dict):
            raise _ServerError(f"no handshake: {json.dumps(response.get('error'))}")
        done: Object = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        self._lines.write(_encoded(done), time.monotonic() + START_SECONDS)
        return response["result"]

    def _asked(self, message: Object, seconds: float) -> Object:
        """Send a request under an id of ours, and wait for the response to it.

        An answer that comes too late has an id that nobody waits for any more.
        """
        self._count += 1
        deadline = time.monotonic() + seconds
        self._lines.write(_encoded({**message, "id": self._count}), deadline)
        while True:
            response = _object(self._lines.read(deadline))
            if "method" not in response and response.get("id") == self._count:
                return response

    def _outside(self, provisioner: Provisioner, found: str) -> OutsideError:
        return OutsideError(
            f"{provisioner.name}: serve",
            found=InWords(f"{found}; stderr: {self.stderr_head[:400]}"),
            allowed="an MCP server on stdin and stdout, one JSON-RPC message a line",
            next_step="start it by hand in the same way and look at what it prints",
        )


class _Lines:
    """The server's process, as lines that can be written and read until a deadline."""

    def __init__(
        self, provisioner: Provisioner, project: str, folder: PairFolder, diagnostics: _Drain
    ) -> None:
        self._buffer = bytearray()
        with diagnostics.writer() as stderr:
            self._service = Service(
                [*provisioner.serve, project],
                cwd=folder.state,
                environment=folder.environment(provisioner),
                stderr=stderr,
            )
        for pipe in (self._service.stdin, self._service.stdout):
            os.set_blocking(pipe.fileno(), False)

    def write(self, line: bytes, deadline: float) -> None:
        left = memoryview(line)
        while left:
            self._wait(self._service.stdin.fileno(), selectors.EVENT_WRITE, deadline)
            try:
                left = left[os.write(self._service.stdin.fileno(), left[:_CHUNK]) :]
            except BlockingIOError:
                continue
            except OSError as error:
                raise _ServerError("the server ended") from error

    def read(self, deadline: float) -> bytes:
        while (end := self._buffer.find(b"\n")) < 0:
            if len(self._buffer) > LONGEST_MESSAGE_BYTES:
                raise _ServerError(f"a message of more than {LONGEST_MESSAGE_BYTES} bytes")
            self._wait(self._service.stdout.fileno(), selectors.EVENT_READ, deadline)
            data = os.read(self._service.stdout.fileno(), _CHUNK)
            if not data:
                raise _ServerError("the server ended")
            self._buffer += data
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line

    def close(self) -> None:
        self._service.close()

    def _wait(self, descriptor: int, event: int, deadline: float) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, event)
            if not selector.select(max(0.0, deadline - time.monotonic())):
                raise _ServerError("no answer in time")


class _Drain:
    """Reads a server's diagnostics, so that they never block it; keeps the head."""

    def __init__(self, limit: int) -> None:
        self.kept = bytearray()
        self._limit = limit
        read, self._write = os.pipe()
        self._thread = threading.Thread(target=self._run, args=(read,), daemon=True)
        self._thread.start()

    def writer(self) -> IO[bytes]:
        """Return the end that the server gets; close it here once the server has it."""
        return os.fdopen(self._write, "wb", buffering=0)

    def close(self) -> None:
        self._thread.join(timeout=5)

    def _run(self, read: int) -> None:
        with os.fdopen(read, "rb", buffering=0) as pipe:
            while data := pipe.read(_CHUNK):
                self.kept += data[: max(0, self._limit - len(self.kept))]


def _object(line: bytes) -> Object:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _ServerError(f"a line that is not JSON: {escaped(repr(line[:80]))}") from error
    if not isinstance(message, dict):
        raise _ServerError("a line that is not an object")
    return message


def _encoded(message: Object) -> bytes:
    return json.dumps(message, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"


def _error(own_id: Json, code: int, text: str) -> bytes:
    return _encoded({"jsonrpc": "2.0", "id": own_id, "error": {"code": code, "message": text}})
