"""A namespace around one program: what it sees, what it may not, and who is left at its end.

Nothing of the machine's own `/home`, `/root`, `/etc` or `/usr/local` is there, no
installed Python package, no network but loopback. The program's bounds are per process
where the kernel has no other without an engine; the facts claim only what holds.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import select
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from benchlib.contracts.attempt import Survivor
from benchlib.errors import OutsideError
from benchlib.processes import Finished, run_supervised
from benchlib.sandbox._places import HOST_NAME, USER_ID
from benchlib.sandbox._process_table import members, namespace_of, survivors
from benchlib.sandbox._programs import Ending

_HOLDER = Path(__file__).with_name("_holder.py")
_SHIMS = "/opt/bin"  # holds `python3` alone, wherever it really lies
_HOLD = f"{_SHIMS}/hold"
_PYTHON = "/opt/python"
NAMESPACE_PATH = f"{_SHIMS}:/usr/bin:/bin"
_SYSTEM_LINKS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")

# What programs need of /etc to load libraries and to find certificates; no key, no account.
_SYSTEM_SETTINGS = (
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "alternatives",
    "ssl/certs",
    "ssl/openssl.cnf",
    "ca-certificates",
    "mime.types",
)
_ACCOUNTS = {
    "passwd": f"agent:x:{USER_ID}:{USER_ID}::/home/agent:/bin/sh\n",
    "group": f"agent:x:{USER_ID}:\n",
    "hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}
_SAFETY_SECONDS = 30.0  # after the deadline, should the watch itself fail


@dataclass(frozen=True)
class Interpreter:
    """A Python that works inside, and how it gets there."""

    program: str  # as seen inside
    binds: tuple[tuple[str, str], ...]  # from, to; read-only
    hidden: tuple[str, ...]  # folders of installed packages, as seen inside
    version: str


@dataclass(frozen=True)
class Namespace:
    """A working bubblewrap on this machine."""

    program: str
    version: str
    interpreter: Interpreter


@dataclass(frozen=True)
class Inside:
    """What one program is given."""

    environment: Mapping[str, str]
    working_folder: str
    writable: Mapping[str, Path]  # place inside: folder outside
    readable: Mapping[str, Path]
    has_network: bool
    memory_bytes: int
    max_processes: int


def find_namespace(scratch: Path) -> Namespace | None:
    """Try bubblewrap for real; many machines have the program and forbid what it needs.

    Args:
        scratch: A folder for the trial.

    Returns:
        A namespace in which Python 3.11 or later ran, or None.
    """
    program = shutil.which("bwrap")
    if program is None:
        return None
    for interpreter in _interpreters():
        version = _try(Namespace(program, "", interpreter), scratch)
        if version >= (3, 11):
            shown = ".".join(map(str, version))
            found = dataclasses.replace(interpreter, version=shown)
            return Namespace(program, _version(program, scratch), found)
    return None


def _try(namespace: Namespace, scratch: Path) -> tuple[int, ...]:
    """Run Python in a namespace; returns its version, or nothing where it did not run."""
    check = "import ctypes, hashlib, json, ssl, sqlite3, sys; print(*sys.version_info[:3])"
    bare = Inside(
        environment={"PATH": NAMESPACE_PATH},
        working_folder="/",
        writable={},
        readable={},
        has_network=False,
        memory_bytes=0,
        max_processes=0,
    )
    try:
        ending = run_inside(
            namespace,
            (namespace.interpreter.program, "-I", "-c", check),
            bare,
            scratch=scratch,
            timeout_seconds=20,
            output_limit_bytes=4096,
        )
    except OutsideError:  # an expected outcome of a trial
        return ()
    return tuple(map(int, ending.stdout.split())) if ending.exit_status == 0 else ()


def _version(program: str, scratch: Path) -> str:
    finished = run_supervised(
        [program, "--version"],
        cwd=scratch,
        environment={},
        stdin=b"",
        timeout_seconds=10,
        stdout_limit_bytes=200,
        stderr_limit_bytes=200,
        stop_at_stdout_limit=False,
        grace_seconds=0,
    )
    return finished.stdout.decode(errors="replace").strip()


def _interpreters() -> Iterator[Interpreter]:
    """Yield what may work: the system's Python, else the one that runs us.

    Ours may lie in a home. It is shown under a neutral name where it can be moved, and
    where it was not built to be moved, at its own place.
    """
    system = _package_folders(Path("/usr"), Path("/usr"))
    if Path("/usr/bin/python3").exists():
        yield Interpreter("/usr/bin/python3", (), system, "")
    prefix = Path(sys.base_prefix)
    name = f"bin/python{sys.version_info[0]}.{sys.version_info[1]}"
    if prefix != Path("/usr"):
        for place in (Path(_PYTHON), prefix):
            hidden = system + _package_folders(prefix, place)
            yield Interpreter(str(place / name), ((str(prefix), str(place)),), hidden, "")


def _package_folders(prefix: Path, place: Path) -> tuple[str, ...]:
    """Folders of installed packages below a prefix, as they are called inside."""
    found = [
        folder
        for library in ("lib", "lib64")
        for name in ("site-packages", "dist-packages")
        for folder in (prefix / library).glob(f"python3*/{name}")
        if not folder.is_symlink()
    ]
    modules = prefix / "lib" / "node_modules"
    found += [modules] if modules.is_dir() and not modules.is_symlink() else []
    return tuple(str(place / folder.relative_to(prefix)) for folder in found)


def run_inside(
    namespace: Namespace,
    argv: Sequence[str],
    inside: Inside,
    *,
    scratch: Path,
    timeout_seconds: float,
    output_limit_bytes: int,
) -> Ending:
    """Run one program in a namespace of its own, and end all that it started.

    Args:
        namespace: Of this machine.
        argv: The program, as found inside.
        inside: What it is given.
        scratch: A folder for the namespace's few settings; kept from the program.
        timeout_seconds: Until everything is killed.
        output_limit_bytes: How much of each output is kept.
    """
    with _Watch(time.monotonic() + timeout_seconds) as watch:
        settings = _write_settings(scratch)
        arguments = _arguments(namespace.interpreter, inside, settings)
        holder = [namespace.interpreter.program, "-I", "-S", _HOLD]
        holder += [str(watch.report[1]), str(watch.release[0])]
        holder += [str(inside.max_processes), str(inside.memory_bytes), "--", *argv]
        with _as_file([*arguments, "--info-fd", str(watch.info[1])], scratch) as listed:
            finished = run_supervised(
                # The arguments name folders of this machine; a file is not in the process table.
                [namespace.program, "--args", str(listed), *holder],
                cwd=scratch,
                environment={},  # of the namespace's first process; it could be read inside
                stdin=b"",
                timeout_seconds=timeout_seconds + _SAFETY_SECONDS,
                stdout_limit_bytes=output_limit_bytes,
                stderr_limit_bytes=output_limit_bytes,
                stop_at_stdout_limit=False,
                grace_seconds=0,
                pass_fds=(listed, *watch.theirs),
            )
    return watch.ending(finished)


def _write_settings(scratch: Path) -> Path:
    folder = scratch / "etc"
    folder.mkdir(exist_ok=True)
    for name, text in _ACCOUNTS.items():
        (folder / name).write_text(text, "utf-8")
    # A copy: the mount table inside names where a file was bound from.
    shutil.copyfile(_HOLDER, folder / "hold")
    return folder


@contextlib.contextmanager
def _as_file(arguments: Sequence[str], scratch: Path) -> Iterator[int]:
    location = scratch / "arguments"
    location.write_bytes(b"".join(os.fsencode(one) + b"\0" for one in arguments))
    descriptor = os.open(location, os.O_RDONLY)
    location.unlink()
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _arguments(interpreter: Interpreter, inside: Inside, settings: Path) -> list[str]:
    """Put together what the namespace is; later arguments lie over earlier ones."""
    places = [
        *_fence(inside),
        *_system(interpreter, inside, settings),
        *(
            word
            for place, folder in inside.writable.items()
            for word in ("--bind", str(folder), place)
        ),
        *(
            word
            for place, folder in inside.readable.items()
            for word in ("--ro-bind", str(folder), place)
        ),
    ]
    variables = [
        word for name, value in inside.environment.items() for word in ("--setenv", name, value)
    ]
    return [
        *places,
        "--remount-ro",
        "/",
        "--clearenv",
        *variables,
        "--chdir",
        inside.working_folder,
    ]


def _fence(inside: Inside) -> list[str]:
    return [
        "--unshare-all",
        *(["--share-net"] if inside.has_network else []),
        "--die-with-parent",
        "--new-session",
        "--as-pid-1",
        *("--cap-drop", "ALL"),
        *("--uid", str(USER_ID)),
        *("--gid", str(USER_ID)),
        *("--hostname", HOST_NAME),
    ]


def _system(interpreter: Interpreter, inside: Inside, settings: Path) -> list[str]:
    words = ["--ro-bind", "/usr", "/usr"]
    for name in _SYSTEM_LINKS:
        words += _system_folder(Path("/") / name)
    hidden = [one for one in interpreter.hidden if one.startswith("/usr/")]
    if not interpreter.program.startswith("/usr/local/"):
        hidden.append("/usr/local")
    for name in _SYSTEM_SETTINGS:
        words += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    for name in _ACCOUNTS:
        words += ["--ro-bind", str(settings / name), f"/etc/{name}"]
    if inside.has_network:
        words += ["--ro-bind-try", "/etc/resolv.conf", "/etc/resolv.conf"]
    for origin, place in interpreter.binds:
        words += ["--ro-bind", origin, place]
    hidden += [one for one in interpreter.hidden if not one.startswith("/usr/")]
    for place in hidden:
        words += ["--tmpfs", place, "--remount-ro", place]
    words += ["--symlink", interpreter.program, f"{_SHIMS}/python3"]
    words += ["--ro-bind", str(settings / "hold"), _HOLD]
    words += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/var/tmp"]  # noqa: S108 - its own
    return words


def _system_folder(place: Path) -> list[str]:
    if place.is_symlink():
        return ["--symlink", os.readlink(place), str(place)]  # noqa: PTH115 - as the system has it
    return ["--ro-bind", str(place), str(place)] if place.is_dir() else []


class _Watch:
    """Beside one program: sees its end or the end of its time, names the rest, ends it.

    Args:
        deadline: On the monotonic clock.
    """

    def __init__(self, deadline: float) -> None:
        self.report, self.release, self.info = os.pipe(), os.pipe(), os.pipe()
        self.theirs = (self.report[1], self.release[0], self.info[1])
        self._ours = {self.report[0], self.release[1], self.info[0]}
        self._deadline = deadline
        self._started = time.monotonic()
        self._milliseconds = 0
        self._timed_out = False
        self._status: int | None = None
        self._survivors: tuple[Survivor, ...] = ()
        self._stopped = os.pipe()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """The program is gone; nothing more can come."""
        os.close(self._stopped[1])
        self._thread.join()
        for descriptor in {*self._ours, *self.theirs, self._stopped[0]}:
            os.close(descriptor)

    def _run(self) -> None:
        word = self._read_line(self.report[0])
        self._milliseconds = int((time.monotonic() - self._started) * 1000)
        first = self._first()
        namespace = namespace_of(first) if first else None
        if namespace:
            self._survivors = survivors(pid for pid in members(namespace) if pid != first)
        if word is None:
            self._timed_out = time.monotonic() >= self._deadline
        else:
            self._status = int(word)
        if self._timed_out and first:
            with contextlib.suppress(ProcessLookupError):
                os.kill(first, signal.SIGKILL)
        os.close(self.release[1])
        self._ours.discard(self.release[1])

    def _read_line(self, descriptor: int) -> bytes | None:
        """Return what was written; None when time was up or the namespace ended first."""
        left = max(0.0, self._deadline - time.monotonic())
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        poll.register(self._stopped[0], select.POLLIN)
        ready = [one for one, _ in poll.poll(int(left * 1000) + 1)]
        return os.read(descriptor, 100) or None if descriptor in ready else None

    def _first(self) -> int | None:
        """Return the namespace's first process, as this machine numbers it."""
        poll = select.poll()
        poll.register(self.info[0], select.POLLIN)
        text = os.read(self.info[0], 4096) if poll.poll(0) else b""
        try:
            return int(json.loads(text)["child-pid"])
        except (ValueError, KeyError):
            return None  # it never began

    def ending(self, finished: Finished) -> Ending:
        """Put together how the program ended.

        Raises:
            OutsideError: The namespace was never made.
        """
        if self._status is None and not self._timed_out and finished.exit_status:
            raise OutsideError(
                "bubblewrap",
                found=finished.stderr.decode(errors="replace").strip() or finished.exit_status,
                allowed="a namespace that begins",
                next_step="see what bubblewrap says; --sandbox docker needs no namespace of yours",
            )
        code = None if self._status is None else os.waitstatus_to_exitcode(self._status)
        was_killed = code is None or code < 0
        return Ending(
            exit_status=None if was_killed else code,
            signal=(signal.SIGKILL if code is None else -code) if was_killed else None,
            timed_out=self._timed_out,
            milliseconds=self._milliseconds,
            stdout=finished.stdout,
            stderr=finished.stderr,
            stdout_bytes=finished.stdout_bytes,
            stderr_bytes=finished.stderr_bytes,
            survivors=self._survivors,
        )
