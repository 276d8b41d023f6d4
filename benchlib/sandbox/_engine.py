"""The engine's answers and streams: errors translated, a deadline on what has none.

An exec has no time limit of its own, and its stream stays open as long as anything that
it started holds it. So the process is asked after beside the stream, and the caller
ends what is left by killing the container.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

import requests
from docker import DockerClient
from docker.errors import DockerException, ImageNotFound

from benchlib.errors import InWords, OutsideError

_START_ENGINE = "start an engine; `.ci/docker-up` starts one and makes the base image"
_ASK_EVERY_SECONDS = 0.25
_HEADER = struct.Struct(">BxxxL")  # stream, length: the engine's multiplexed frames
_STDOUT = 1


@contextlib.contextmanager
def engine_errors(doing: str) -> Iterator[None]:
    """Translate what the SDK raises while something is done.

    Args:
        doing: In words, such as ``start an arm``.

    Raises:
        OutsideError: The engine failed, or an image is not there.
    """
    try:
        yield
    except ImageNotFound as error:
        raise OutsideError(
            "docker",
            doing,
            found=str(error.explanation or error),
            allowed="an image that the engine has; none is fetched from a registry",
            next_step="make it: `.ci/docker-up`",
        ) from error
    except (DockerException, requests.RequestException) as error:
        raise OutsideError(
            "docker",
            doing,
            found=str(getattr(error, "explanation", None) or error),
            allowed="an engine that does it",
            next_step=_START_ENGINE,
        ) from error


def connect() -> DockerClient:
    """Connect to the engine that the environment names (`DOCKER_HOST`), or the usual one."""
    with engine_errors("connect"):
        _knock(os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock"))
        # One pair of threads per pool slot; a load of a large image takes its time.
        return DockerClient.from_env(timeout=600, max_pool_size=64)


def _knock(address: str) -> None:
    """Fail at once, and cleanly, where nobody listens; the SDK would leave its socket open."""
    if not address.startswith("unix://"):
        return
    try:
        with socket.socket(socket.AF_UNIX) as knocker:
            knocker.connect(address.removeprefix("unix://"))
    except OSError as error:
        raise OutsideError(
            "docker",
            "connect",
            found=InWords(f"{address}: {error.strerror or error}"),
            allowed="an engine that answers there",
            next_step=_START_ENGINE,
        ) from error


class EngineSocket(Protocol):
    """The raw connection that the SDK hands out for a stream."""

    def fileno(self) -> int:
        """Return the descriptor."""
        ...

    def close(self) -> None:
        """Close it."""
        ...


@dataclass
class Output:
    """One output of a program: its head is kept, all of it is counted."""

    limit_bytes: int
    head: bytearray = field(default_factory=bytearray)
    size_bytes: int = 0

    def add(self, part: bytes) -> None:
        """Take in what came next."""
        self.size_bytes += len(part)
        self.head += part[: max(0, self.limit_bytes - len(self.head))]


class Stream:
    """Both outputs of a program in a container, read as they come.

    Args:
        socket: The connection; closed by `close`.
        limit_bytes: How much of each output is kept.
    """

    def __init__(self, socket: EngineSocket, limit_bytes: int) -> None:
        self.stdout, self.stderr = Output(limit_bytes), Output(limit_bytes)
        self.is_open = True
        self._socket = socket
        self._header = b""
        self._left, self._output = 0, self.stdout

    def follow(self, is_running: Callable[[], bool], deadline: float) -> bool:
        """Read until the program has ended.

        Args:
            is_running: Asks the engine.
            deadline: On the monotonic clock.

        Returns:
            Whether it ended in time.
        """
        asked, pause = time.monotonic(), 0.002
        while (now := time.monotonic()) < deadline:
            if self.is_open:
                may_come = self._read(min(_ASK_EVERY_SECONDS, deadline - now))
                if may_come and time.monotonic() - asked < _ASK_EVERY_SECONDS:
                    continue
            if not is_running():
                return True
            asked = time.monotonic()
            if not self.is_open:  # it closed its outputs, or the engine is a moment behind
                time.sleep(min(pause, max(0.0, deadline - asked)))
                pause = min(pause * 2, _ASK_EVERY_SECONDS)
        return False

    def drain(self, seconds: float) -> None:
        """Read what was written before the end, for at most so long."""
        deadline = time.monotonic() + seconds
        while self.is_open and (left := deadline - time.monotonic()) > 0:
            self._read(left)

    def _read(self, seconds: float) -> bool:
        """Read what comes within that time; tells whether more may come."""
        poll = select.poll()  # no limit on descriptor numbers, unlike select()
        poll.register(self._socket.fileno(), select.POLLIN)
        if not poll.poll(max(1, int(seconds * 1000))):
            return True
        try:
            part = os.read(self._socket.fileno(), 262_144)
        except OSError:  # the engine cut the connection when the container died
            part = b""
        self._take(part)
        self.is_open = bool(part)
        return self.is_open

    def _take(self, part: bytes) -> None:
        while part:
            if self._left == 0:
                self._header, part = (
                    self._header + part[: 8 - len(self._header)],
                    part[8 - len(self._header) :],
                )
                if len(self._header) < 8:
                    return
                number, self._left = _HEADER.unpack(self._header)
                self._output = self.stdout if number == _STDOUT else self.stderr
                self._header = b""
                continue
            self._output.add(part[: self._left])
            taken = min(self._left, len(part))
            part, self._left = part[taken:], self._left - taken

    def close(self) -> None:
        """Close the connection."""
        response = getattr(self._socket, "_response", None)  # it owns the connection
        (response or self._socket).close()
