"""The first program of a namespace: starts one other, says how it ended, holds what is left.

It runs as ``python3 -I -S hold REPORT RELEASE PROCESSES BYTES -- ARGV…``, a copy of this
file, as process 1. The wait status of the program is written to the descriptor
REPORT; then it waits until RELEASE is closed on the other side, so that whoever watches
can still see what else is alive. With it, everything in the namespace ends.
"""

from __future__ import annotations

import os
import resource
import sys


def _main() -> None:
    report, release, processes, size = (int(word) for word in sys.argv[1:5])
    child = os.fork()
    if child == 0:
        os.setsid()
        os.closerange(3, 65_536)
        if processes:
            resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))
        if size:
            resource.setrlimit(resource.RLIMIT_DATA, (size, size))
        _become(sys.argv[6:])
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    while True:
        pid, status = os.wait()
        if pid == child:
            break
    os.write(report, b"%d\n" % status)
    os.close(report)
    os.read(release, 1)
    os._exit(0)


def _become(argv: list[str]) -> None:
    try:
        os.execvp(argv[0], argv)  # noqa: S606 - no shell on purpose
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
    os._exit(127)


if __name__ == "__main__":
    _main()
