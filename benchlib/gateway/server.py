"""The one door of an arm: an HTTP server on a Unix socket, with a token of its own.

It answers ``POST /v1/chat/completions``, ``GET /v1/models`` and, only where the arm
has a memory channel, ``POST /mcp``. Everything else is 404; there is no admin side.
Each exchange is on disk before its answer leaves. What never got past the token or the
size is no exchange: no model and no memory saw it.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import http.server
import json
import os
import re
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from benchlib.contracts.reading import Json, StrictJsonError, parse
from benchlib.contracts.usage import Usage
from benchlib.errors import InWords, OutsideError
from benchlib.gateway.openai import (
    BadRequestError,
    ChatAnswer,
    ChatRequest,
    read_request,
    response_body,
)
from benchlib.gateway.record import CHAT_PATH, MEMORY_PATH, Exchange, line_of, usage_from_wire

Answer = Callable[[ChatRequest], ChatAnswer]
"""A back end: one request to one answer."""

CallMemory = Callable[[bytes], bytes]
"""A memory's tool server: one JSON-RPC request to its response; empty for a notification."""

LARGEST_REQUEST_BYTES = 32 * 1024 * 1024
_LONGEST_SOCKET_PATH = 107  # sun_path of Linux, without its NUL
_LENGTH = re.compile(r"[0-9]{1,15}")


class Gateway:
    """What a door has carried so far. Safe to read from any thread."""

    def __init__(
        self,
        answer: Answer | None,
        call_memory: CallMemory | None,
        token: str,
        record: BinaryIO,
        models: tuple[str, ...],
    ) -> None:
        self.usage = Usage()
        self.exchanges = 0
        self._answer = answer
        self._call_memory = call_memory
        self._token = token
        self._record = record
        self._models = models
        self._guard = threading.Lock()

    def admits(self, authorization: str | None) -> bool:
        """Tell whether a request carries this arm's token; compared in constant time."""
        return hmac.compare_digest((authorization or "").encode(), f"Bearer {self._token}".encode())

    def reply(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        """Answer one request and record the exchange.

        Args:
            method: As the client sent it.
            path: As the client sent it.
            body: The request's bytes.

        Returns:
            The status and the body of the answer.
        """
        started = time.monotonic()
        with self._guard:
            self.exchanges += 1
            number = self.exchanges
        status, response = self._dispatch(method, path, body)
        milliseconds = int((time.monotonic() - started) * 1000)
        exchange = Exchange(number, path, status, _shown(body), _shown(response), milliseconds)
        with self._guard:
            self._record.write(line_of(exchange))
            self._record.flush()
            usage = exchange.response.get("usage")
            if path == CHAT_PATH and status == 200 and isinstance(usage, dict):
                self.usage = self.usage.plus(usage_from_wire(usage))
        return status, response

    def _dispatch(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        if (method, path) == ("POST", CHAT_PATH) and self._answer is not None:
            return self._chat(self._answer, body)
        if (method, path) == ("POST", MEMORY_PATH) and self._call_memory is not None:
            return self._memory(self._call_memory, body)
        if (method, path) == ("GET", "/v1/models") and self._answer is not None:
            models: list[Json] = [{"id": name, "object": "model"} for name in self._models]
            return 200, _dumps({"object": "list", "data": models})
        return 404, _error("there is nothing here")

    @staticmethod
    def _chat(answer: Answer, body: bytes) -> tuple[int, bytes]:
        identity = hashlib.sha256(body).hexdigest()[:24]  # equal requests get equal bytes
        try:
            return 200, _dumps(response_body(answer(read_request(body)), identity))
        except BadRequestError as error:
            return 400, _error(str(error))

    @staticmethod
    def _memory(call_memory: CallMemory, body: bytes) -> tuple[int, bytes]:
        try:
            response = call_memory(body)
        except OutsideError as error:
            return 502, _error(error.found)
        return (200, response) if response else (202, b"")


@contextlib.contextmanager
def serve(
    answer: Answer | None,
    *,
    socket_path: Path,
    record_path: Path,
    token: str,
    call_memory: CallMemory | None = None,
    models: tuple[str, ...] = (),
) -> Iterator[Gateway]:
    """Open an arm's door.

    Args:
        answer: The back end; None for an agent without a model.
        socket_path: The Unix socket, made anew with mode 0666; at most 107 bytes long.
        record_path: The wire record; appended to.
        token: What a request must carry as its bearer token.
        call_memory: The memory's tool server, where the arm has a channel to it.
        models: Names that ``GET /v1/models`` lists.

    Yields:
        The gateway, whose usage and exchanges can be read while it serves.

    Raises:
        OutsideError: The socket can't be made.
    """
    if len(os.fsencode(socket_path)) > _LONGEST_SOCKET_PATH:
        raise OutsideError(
            str(socket_path),
            found=InWords(f"{len(os.fsencode(socket_path))} bytes"),
            allowed=f"a path of at most {_LONGEST_SOCKET_PATH} bytes for a Unix socket",
            next_step="set TMPDIR to a shorter folder",
        )
    record_path.parent.mkdir(parents=True, exist_ok=True)
    with record_path.open("ab") as record:
        gateway = Gateway(answer, call_memory, token, record, models)
        with _running(_bound(socket_path, gateway)):
            try:
                yield gateway
            finally:
                socket_path.unlink(missing_ok=True)


def _bound(socket_path: Path, gateway: Gateway) -> _Server:
    try:
        server = _Server(str(socket_path), gateway)
        socket_path.chmod(0o666)  # the arm's user is another one; the folder is the arm's own
    except OSError as error:
        raise OutsideError(
            str(socket_path),
            found=error.strerror or str(error),
            allowed="a new Unix socket in a folder that is there",
            next_step="remove what a crashed run left, or name another folder",
        ) from error
    return server


@contextlib.contextmanager
def serve_loopback(
    answer: Answer, *, token: str, record_path: Path, models: tuple[str, ...] = ()
) -> Iterator[str]:
    """Serve a back end on a free port of 127.0.0.1, for people and programs on this machine.

    Args:
        answer: The back end.
        token: What a request must carry as its bearer token.
        record_path: The wire record; appended to.
        models: Names that ``GET /v1/models`` lists.

    Yields:
        The base address, such as ``http://127.0.0.1:40001/v1``.
    """
    with record_path.open("ab") as record:
        server = _TcpServer(Gateway(answer, None, token, record, models))
        with _running(server):
            yield f"http://127.0.0.1:{server.server_address[1]}/v1"


@contextlib.contextmanager
def _running(server: socketserver.BaseServer) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60  # of an idle or trickling connection
    gateway: Gateway

    def setup(self) -> None:
        super().setup()
        self.gateway = self.server.gateway  # type: ignore[attr-defined]  # set by both servers

    def do_GET(self) -> None:
        self._handle()

    def do_POST(self) -> None:
        self._handle()

    def _handle(self) -> None:
        length = self.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.headers or not _LENGTH.fullmatch(length):
            self.close_connection = True  # where the body ends is not known
            self._send(411, _error("a Content-Length is needed; chunks are not read"))
            return
        if int(length) > LARGEST_REQUEST_BYTES:
            self.close_connection = True
            self._send(413, _error(f"at most {LARGEST_REQUEST_BYTES} bytes"))
            return
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            self.close_connection = True  # cut off: nothing was asked
            return
        if not self.gateway.admits(self.headers.get("Authorization")):
            self._send(401, _error("this door opens for another token"))
            return
        self._send(*self.gateway.reply(self.command, self.path, body))

    def _send(self, status: int, body: bytes) -> None:
        self.send_response_only(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(ConnectionError):  # the agent was killed meanwhile
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing: the record is the log."""


class _Threads(socketserver.ThreadingMixIn):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: an agent that was killed leaves its connection half open."""


class _Server(_Threads, socketserver.UnixStreamServer):
    def __init__(self, path: str, gateway: Gateway) -> None:
        self.gateway = gateway
        super().__init__(path, _Handler)

    def get_request(self) -> tuple[object, object]:  # type: ignore[override]
        # http.server wants an address of two parts, and a Unix socket has none.
        connection, _ = super().get_request()
        return connection, ("agent", 0)


class _TcpServer(_Threads, socketserver.TCPServer):
    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        super().__init__(("127.0.0.1", 0), _Handler)


def _shown(body: bytes) -> dict[str, Json]:
    """Return a body as the record holds it: an object, if a reader of the line can read it."""
    try:
        document = parse(body) if body else {}
        parse(b'{"":' + (body or b"{}") + b"}")  # one level more, as in its line
    except StrictJsonError:
        return {"text": body.decode(errors="replace")}
    return document


def _dumps(document: dict[str, Json]) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def _error(message: str) -> bytes:
    return _dumps({"error": {"message": message, "type": "invalid_request_error"}})
