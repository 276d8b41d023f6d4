"""The guard inside a plan's kernel: it names what a cell tried, the sandbox makes it futile.

A plan reads its inputs and emits tables. Network, child processes and writes
outside its folders are refused and written down, also when the cell swallows the
error. It is a courtesy: code that means to can go round it, which is why the
kernel runs in namespaces where the machine has them.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass

_CONNECTS = {"socket.connect", "socket.sendto", "socket.sendmsg"}
_RESOLVES = {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"}
_STARTS = {
    "subprocess.Popen",
    "os.exec",
    "os.fork",
    "os.forkpty",
    "os.posix_spawn",
    "os.spawn",
    "os.system",
    "pty.spawn",
}
_CHANGES = {
    "os.remove",
    "os.rename",
    "os.mkdir",
    "os.rmdir",
    "os.link",
    "os.symlink",
    "os.truncate",
    "os.chmod",
    "shutil.rmtree",
}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


@dataclass
class Guard:
    """An audit hook; harmless until the first cell runs.

    Args:
        journal: File descriptor that attempts are written to, one JSON object a line.
        writable: Real paths of the folders that may be written.
        cell: The number of the code cell that runs, counted from 1; 0 before the first.
    """

    journal: int
    writable: tuple[str, ...]
    cell: int = 0
    is_writing: bool = False

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        """Refuse an event that a plan may not cause.

        Raises:
            PermissionError: It is one of those; the attempt is on record before it is raised.
        """
        if not self.cell or self.is_writing:
            return
        attempt = self._attempt(event, arguments)
        if attempt:
            self.is_writing = True  # writing it down is not another attempt
            line = json.dumps({"cell": self.cell, "event": event, "attempt": attempt})
            os.write(self.journal, line.encode() + b"\n")
            self.is_writing = False
            msg = f"a plan may not do this: {attempt}"
            raise PermissionError(msg)

    def _attempt(self, event: str, arguments: tuple[object, ...]) -> str | None:
        if event in _CONNECTS:
            return f"tried to reach {_address(arguments[-1])}"
        if event in _RESOLVES:
            return f"tried to reach {_address(arguments[:2])}"
        if event in _STARTS:
            return f"tried to start a process: {_program(arguments)}"
        if event == "open" and self._is_write(arguments):
            return f"tried to write {arguments[0]}"
        if event in _CHANGES and not self._is_inside(arguments[0]):
            return f"tried to change {arguments[0]} ({event})"
        return None

    def _is_write(self, arguments: tuple[object, ...]) -> bool:
        path, mode, flags = (*arguments, None, None, None)[:3]
        writes = isinstance(mode, str) and any(letter in mode for letter in "wax+")
        writes = writes or (isinstance(flags, int) and bool(flags & _WRITING))
        return writes and not self._is_inside(path)

    def _is_inside(self, path: object) -> bool:
        if not isinstance(path, str | bytes | os.PathLike):
            return True  # a descriptor: opening it was judged before
        real = os.path.realpath(os.fsdecode(path))
        return real == os.devnull or any(real.startswith(f"{one}/") for one in self.writable)


def _address(address: object) -> str:
    if isinstance(address, tuple):
        return ":".join(str(part) for part in address[:2] if part is not None)
    return str(address)


def _program(arguments: tuple[object, ...]) -> str:
    named = next((one for one in arguments if isinstance(one, str | bytes | os.PathLike)), "")
    return os.fsdecode(named) or "a copy of itself"
