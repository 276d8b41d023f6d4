"""Who is alive, read from this machine's own process table."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchlib.contracts.attempt import Survivor
from benchlib.errors import escaped

_SHOWN_CHARACTERS = 1000


def namespace_of(pid: int) -> str | None:
    """Return the process namespace that a process lives in; None when it can't be told."""
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")  # noqa: PTH115 - hundreds of them at a time
    except OSError:
        return None


def members(namespace: str) -> list[int]:
    """Return the live processes of a namespace, as this machine numbers them."""
    return sorted(pid for pid in _everyone() if namespace_of(pid) == namespace and _is_alive(pid))


def survivors(pids: Iterable[int]) -> tuple[Survivor, ...]:
    """Describe processes, numbered as their own namespace numbers them."""
    found = [Survivor(pid=_inner_number(pid), argv=argv_of(pid)) for pid in pids]
    return tuple(sorted(found, key=lambda one: one.pid))


def argv_of(pid: int) -> str:
    """Return a process's arguments as a receipt may show them."""
    words = _read(f"/proc/{pid}/cmdline").replace(b"\0", b" ").strip()
    return escaped(words.decode(errors="surrogateescape"))[:_SHOWN_CHARACTERS]


def parent_of(pid: int) -> int:
    """Return a process's parent; 0 when it has gone."""
    fields = _fields(pid)
    return int(fields[1]) if fields else 0


def _everyone() -> Iterator[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdigit())  # noqa: PTH208 - names alone


def _is_alive(pid: int) -> bool:
    fields = _fields(pid)
    return bool(fields) and fields[0] not in {b"Z", b"X"}


def _fields(pid: int) -> list[bytes]:
    """State, parent and the rest: what follows the program's name, which may hold anything."""
    return _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()


def _inner_number(pid: int) -> int:
    for line in _read(f"/proc/{pid}/status").splitlines():
        if line.startswith(b"NSpid:"):
            return int(line.split()[-1])
    return pid


def _read(location: str) -> bytes:
    try:
        return Path(location).read_bytes()
    except OSError:
        return b""  # it has ended meanwhile
