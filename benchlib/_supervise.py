"""The supervisor of one program: finds all that it started, and lets nothing outlive it.

It runs as ``python -I -S _supervise.py REPORT_FD PARENT_PID GRACE -- ARGV…`` between the
runner and the program, with the standard library alone. It makes itself the reaper of
orphans, so that a daemon that forked twice is found; when the program has exited, or
SIGTERM came, or its own parent died, it names every process that is still there and
kills it. The report is lines on the report's descriptor: ``spawn-error TEXT``,
``status WAIT_STATUS``, ``survivor PID HEX_OF_ARGV``. It imports as little as it can,
for it stands before every program that the kit starts.
"""

from __future__ import annotations

# ruff: noqa: PTH123, PTH208 - pathlib would cost half of the start
import ctypes
import os
import signal
import sys
import time

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


class _StopError(Exception):
    """SIGTERM came: the runner's deadline passed, or the runner died."""


def main() -> None:
    """Run the program of the command line to its end and report."""
    report_fd, parent, grace = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    argv = sys.argv[5:]
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])  # until we can act on it
    signal.signal(signal.SIGTERM, _stop)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    child = _start(argv, report_fd)
    status: int | None = None
    was_stopped = os.getppid() != parent  # it died before we asked to be told
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
        if not was_stopped:
            status = _wait(child)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    except _StopError:
        was_stopped = True
    survivors = _others(child)
    while status is not None and not survivors and _reap():
        survivors = _others(child)  # the table missed somebody
    lines = [] if status is None else [f"status {status}"]
    lines += [f"survivor {pid} {_argv(pid).hex()}" for pid in survivors]
    _write(report_fd, lines)
    _end_all(grace if was_stopped else 0)


def _environment() -> dict[bytes, bytes]:
    """Return the environment as it was handed over; the interpreter adds a locale to its own."""
    lines = _read("/proc/self/environ").split(b"\0")
    pairs = [line.partition(b"=") for line in lines if b"=" in line]
    return {name: value for name, _, value in pairs}


def _stop(_signal: int, _frame: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough
    raise _StopError


def _write(report_fd: int, lines: list[str]) -> None:
    data = "".join(f"{line}\n" for line in lines).encode()
    try:
        while data:
            data = data[os.write(report_fd, data) :]
    except OSError:
        return  # the runner is dead: nobody reads, and there is still somebody to end


def _start(argv: list[str], report_fd: int) -> int:
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
            os.set_inheritable(report_fd, False)
            os.execvpe(argv[0], argv, _environment())  # noqa: S606 - no shell on purpose
        except OSError as error:
            _write(report_fd, [f"spawn-error {error.strerror}"])
            os._exit(127)
    # The pipes belong to the program: while we held them open, their end could not be seen.
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    return child


def _wait(child: int) -> int:
    while True:
        pid, status = os.wait()
        if pid == child:
            return status


def _others(child: int) -> list[int]:
    return [one for one in _descendants() if one != child]


def _descendants() -> list[int]:
    """Every live process below this one, from the process table."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            fields = _read(f"/proc/{name}/stat").rpartition(b")")[2].split()
            if fields and fields[0] != b"Z":
                children.setdefault(int(fields[1]), []).append(int(name))
    found, pending = [], [os.getpid()]
    while pending:
        for pid in children.get(pending.pop(), []):
            found.append(pid)
            pending.append(pid)
    return sorted(found)


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""  # it has gone meanwhile


def _argv(pid: int) -> bytes:
    return _read(f"/proc/{pid}/cmdline").replace(b"\0", b" ").strip()[:4000]


def _end_all(grace: float) -> None:
    """Ask, wait out the grace, then kill until nothing is left.

    The process table is read while it changes and may miss who was just started. That no
    child is left the kernel alone can say: every orphan below is ours.
    """
    if grace:
        _signal_all(signal.SIGTERM)
        deadline = time.monotonic() + grace
        while _reap() and time.monotonic() < deadline:
            time.sleep(0.005)
    while _reap():
        _signal_all(signal.SIGKILL)
        time.sleep(0.001)


def _signal_all(number: signal.Signals) -> None:
    for pid in _descendants():
        try:
            os.kill(pid, number)
        except OSError:
            continue


def _reap() -> bool:
    """Collect who has ended; tell whether a child is left."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            continue
    except ChildProcessError:
        return False
    return True


if __name__ == "__main__":
    main()
