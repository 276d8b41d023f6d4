"""Processes that cannot outlive us: one program, its time, its output, and all that it started.

Every program of somebody else's (a provisioner, an agent, a verifier) is started through
``_supervise.py``: in a session of its own, without a shell, with the environment that it
is given and nothing else, every other descriptor closed. When it has exited, its time is
up, or the runner itself died, everything below it is named and killed. Linux only: it
rests on subreapers and the process table.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Self

_SUPERVISOR = Path(__file__).with_name("_supervise.py")
_CHUNK = 65_536
_SLACK_SECONDS = 2.0  # for the supervisor itself, after grace, before it is killed too


@dataclass(frozen=True)
class Alive:
    """A process that was still there when its program had ended."""

    pid: int
    argv: str


@dataclass(frozen=True)
class Finished:
    """How a program ended. ``exit_status`` is None when it was killed or never started."""

    exit_status: int | None
    signal: int | None
    timed_out: bool
    stdout: bytes
    stderr: bytes
    stdout_bytes: int
    stderr_bytes: int
    stdout_overflowed: bool
    milliseconds: int
    survivors: tuple[Alive, ...]
    spawn_error: str | None


@dataclass
class _Stream:
    """One output of the program: the head is kept, all of it counted."""

    limit: int
    kept: bytearray = field(default_factory=bytearray)
    size: int = 0

    def add(self, data: bytes) -> None:
        self.size += len(data)
        self.kept += data[: max(0, self.limit - len(self.kept))]


def run_supervised(
    argv: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    stdin: bytes,
    timeout_seconds: float,
    stdout_limit_bytes: int,
    stderr_limit_bytes: int,
    stop_at_stdout_limit: bool,
    grace_seconds: float = 5.0,
    pass_fds: Sequence[int] = (),
) -> Finished:
    """Run one program to its end, and to the end of all that it started.

    Args:
        argv: The program and its arguments; nothing goes through a shell.
        cwd: Its working folder.
        environment: All of its environment.
        stdin: What it may read; a program that does not read it is not at fault.
        timeout_seconds: From before its start to its exit and the end of both outputs.
        stdout_limit_bytes: How much of stdout is kept.
        stderr_limit_bytes: How much of stderr is kept.
        stop_at_stdout_limit: Whether one byte more ends the program at once.
        grace_seconds: Between SIGTERM and SIGKILL, when it is stopped.
        pass_fds: Descriptors that it inherits.

    Returns:
        How it ended. Survivors are those that were alive after the program itself
        exited, and, when it was stopped, those it had started until then.
    """
    started = time.monotonic()
    report_read, report_write = os.pipe()
    command = [sys.executable, "-I", "-S", str(_SUPERVISOR), str(report_write)]
    command += [str(os.getpid()), str(grace_seconds), "--", *argv]
    try:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(report_write, *pass_fds),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        os.close(report_read)
        os.close(report_write)
        return _never_started(str(error), started)
    os.close(report_write)
    watch = _Watch(process, report_read, stdin, stdout_limit_bytes, stderr_limit_bytes)
    try:
        watch.run(started + timeout_seconds, grace_seconds, stop_at_stdout_limit)
    finally:
        watch.close()
    return watch.finished(started)


def _never_started(reason: str, started: float) -> Finished:
    milliseconds = int((time.monotonic() - started) * 1000)
    return Finished(None, None, False, b"", b"", 0, 0, False, milliseconds, (), reason)


class _Watch:
    """The loop over one program's pipes: concurrent, bounded, with a deadline."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        report: int,
        stdin: bytes,
        stdout_limit: int,
        stderr_limit: int,
    ) -> None:
        self.process = process
        self.timed_out = False
        self.overflowed = False
        self._report = os.fdopen(report, "rb", buffering=0)
        self._report_bytes = bytearray()
        self._to_write = memoryview(stdin)
        self._out, self._err = _Stream(stdout_limit), _Stream(stderr_limit)
        self._selector = selectors.DefaultSelector()
        self._watch_pipes()

    def _watch_pipes(self) -> None:
        for pipe in (self.process.stdout, self.process.stderr, self._report):
            self._register(pipe, selectors.EVENT_READ)
        if self._to_write:
            self._register(self.process.stdin, selectors.EVENT_WRITE)
        elif self.process.stdin:
            self.process.stdin.close()

    def _register(self, pipe: IO[bytes] | None, events: int) -> None:
        if pipe is None:
            raise RuntimeError("the pipe was asked for")
        os.set_blocking(pipe.fileno(), False)
        self._selector.register(pipe, events)

    def run(self, deadline: float, grace: float, stop_at_limit: bool) -> None:
        """Move bytes until every pipe is closed or the time is up."""
        while self._selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                if self.timed_out or self.overflowed:
                    self.process.kill()  # the supervisor itself did not end
                    break
                self.timed_out = True
                self.process.terminate()
                deadline = time.monotonic() + grace + _SLACK_SECONDS
                continue
            for key, _ in self._selector.select(left):
                self._move(key.fileobj)
            if stop_at_limit and not self.overflowed and self._out.size > self._out.limit:
                self.overflowed = True
                self._drop(self.process.stdout)
                self.process.terminate()
                deadline = time.monotonic() + grace + _SLACK_SECONDS
        self.process.wait()

    def _move(self, pipe: object) -> None:
        if pipe is self.process.stdin:
            self._write()
        elif pipe is self.process.stdout:
            self._read(self.process.stdout, self._out)
        elif pipe is self.process.stderr:
            self._read(self.process.stderr, self._err)
        else:
            data = self._report.read(_CHUNK)
            self._report_bytes += data or b""
            if not data:
                self._drop(self._report)

    def _write(self) -> None:
        if self.process.stdin is None:
            return
        try:
            count = os.write(self.process.stdin.fileno(), self._to_write[:_CHUNK])
        except BlockingIOError:
            return
        except OSError:  # it closed its stdin: not a fault of its own
            count = len(self._to_write)
        self._to_write = self._to_write[count:]
        if not self._to_write:
            self._drop(self.process.stdin)

    def _read(self, pipe: IO[bytes] | None, stream: _Stream) -> None:
        if pipe is None:
            return
        data = os.read(pipe.fileno(), _CHUNK)
        stream.add(data)
        if not data:
            self._drop(pipe)

    def _drop(self, pipe: IO[bytes] | None) -> None:
        if pipe is not None and not pipe.closed:
            self._selector.unregister(pipe)
            pipe.close()

    def close(self) -> None:
        """Close what is open; end the supervisor if the loop was left by an exception."""
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait()
        self._selector.close()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr, self._report):
            if pipe is not None and not pipe.closed:
                pipe.close()

    def finished(self, started: float) -> Finished:
        """Put together how it ended."""
        report = _Report.read(bytes(self._report_bytes))
        was_stopped = self.timed_out or self.overflowed
        return Finished(
            exit_status=report.exit_status,
            signal=signal.SIGKILL if report.is_empty and was_stopped else report.signal,
            timed_out=self.timed_out,
            stdout=bytes(self._out.kept),
            stderr=bytes(self._err.kept),
            stdout_bytes=self._out.size,
            stderr_bytes=self._err.size,
            stdout_overflowed=self._out.size > self._out.limit,
            milliseconds=int((time.monotonic() - started) * 1000),
            survivors=report.survivors,
            spawn_error=report.spawn_error,
        )


@dataclass(frozen=True)
class _Report:
    """What the supervisor said: see its docstring for the lines."""

    exit_status: int | None = None
    signal: int | None = None
    survivors: tuple[Alive, ...] = ()
    spawn_error: str | None = None
    is_empty: bool = True  # no status: the program was stopped, or never started

    @classmethod
    def read(cls, data: bytes) -> Self:
        lines = [line.split(" ", 1) for line in data.decode(errors="replace").splitlines()]
        survivors = [rest.split(" ") for word, rest in lines if word == "survivor"]
        alive = tuple(
            Alive(int(pid), bytes.fromhex(text).decode(errors="replace")) for pid, text in survivors
        )
        words = dict(lines)
        if "spawn-error" in words:
            return cls(spawn_error=words["spawn-error"], is_empty=False)
        if "status" not in words:
            return cls(survivors=alive)
        code = os.waitstatus_to_exitcode(int(words["status"]))
        if code < 0:
            return cls(signal=-code, survivors=alive, is_empty=False)
        return cls(exit_status=code, survivors=alive, is_empty=False)


class Service:
    """A program that runs beside us until it is closed, and dies with us.

    Args:
        argv: The program and its arguments.
        cwd: Its working folder.
        environment: All of its environment.
        stderr: A file that takes its diagnostics.
    """

    def __init__(
        self, argv: Sequence[str], *, cwd: Path, environment: Mapping[str, str], stderr: IO[bytes]
    ) -> None:
        self._report, write = os.pipe()
        command = [sys.executable, "-I", "-S", str(_SUPERVISOR), str(write)]
        command += [str(os.getpid()), "1", "--", *argv]
        try:
            self._process = subprocess.Popen(
                command,
                cwd=cwd,
                env=dict(environment),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                pass_fds=(write,),
                start_new_session=True,
            )
        except OSError:
            os.close(self._report)
            raise
        finally:
            os.close(write)

    @property
    def stdin(self) -> IO[bytes]:
        """Its standard input."""
        if self._process.stdin is None:
            raise RuntimeError("the pipe was asked for")
        return self._process.stdin

    @property
    def stdout(self) -> IO[bytes]:
        """Its standard output."""
        if self._process.stdout is None:
            raise RuntimeError("the pipe was asked for")
        return self._process.stdout

    def close(self) -> None:
        """End it and all that it started; may be called twice."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None and not pipe.closed:
                pipe.close()
        if self._process.poll() is None:
            self._process.terminate()
            self._process.wait()
        if self._report >= 0:
            os.close(self._report)
            self._report = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
