"""Servers that real Git can fetch from, on loopback."""

from __future__ import annotations

import contextlib
import http.server
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Serve = Callable[[Path, str], str]


class _Backend(http.server.BaseHTTPRequestHandler):
    """Speaks Git's smart protocol through Git's own CGI program."""

    protocol_version = "HTTP/1.0"
    root: Path
    backend: str

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def _answer(self, body: bytes) -> None:
        path, _, query = self.path.partition("?")
        environment = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
        }
        answer = subprocess.run(
            [self.backend], input=body, env=environment, capture_output=True, check=True
        ).stdout
        head, _, content = answer.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self.send_response(int(headers.pop("Status", "200").split(" ", maxsplit=1)[0]))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class _Plain(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Serve a folder of bare repositories: `smart` through Git's CGI, or `plain` files."""
    with contextlib.ExitStack() as servers:

        def start(folder: Path, how: str) -> str:
            path = subprocess.run(
                ["git", "--exec-path"], capture_output=True, text=True, check=True
            )
            backend = f"{path.stdout.strip()}/git-http-backend"

            class Smart(_Backend):
                root = folder

            Smart.backend = backend

            def plain(*arguments: object) -> _Plain:
                return _Plain(*arguments, directory=str(folder))  # type: ignore[arg-type]

            handler = Smart if how == "smart" else plain
            server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)  # type: ignore[arg-type]
            servers.callback(server.server_close)
            servers.callback(server.shutdown)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            return f"http://127.0.0.1:{server.server_port}"

        yield start
