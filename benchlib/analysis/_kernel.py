"""The program that a plan's kernel runs: ipykernel, with ``emit`` and the guard in place.

Started as ``python -m benchlib.analysis._kernel CONNECTION_FILE SCRATCH``. It reads
``SCRATCH/run.json``, takes no start-up file and no configuration of the user's, and
puts nothing of the current folder on the path of imports.
"""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ipykernel.zmqshell import ZMQInteractiveShell

from benchlib.analysis._guard import Guard
from benchlib.analysis.declarations import Output
from benchlib.contracts.base import Contract, Count, Sha256
from benchlib.contracts.reading import read_file

RUN_NAME = "run.json"
GUARD_NAME = "guard.jsonl"


class KernelRun(Contract):
    """What the runner tells the kernel."""

    plan_sha256: Sha256
    outputs: tuple[Output, ...]
    memory_bytes: Count | None


def main(connection_file: str, scratch: Path) -> None:
    """Run the kernel until it is told to stop."""
    run = read_file(KernelRun, scratch / RUN_NAME)
    if run.memory_bytes is not None:
        resource.setrlimit(resource.RLIMIT_AS, (run.memory_bytes, run.memory_bytes))
    from ipykernel.kernelapp import IPKernelApp  # noqa: PLC0415 - after the limit
    from traitlets.config import Config  # noqa: PLC0415 - likewise

    from benchlib.analysis import emission  # noqa: PLC0415 - loads pandas

    emission.begin(
        emission.Run({one.id: one for one in run.outputs}, run.plan_sha256, scratch / "out")
    )
    config = Config()
    config.InteractiveShellApp.ignore_cwd = True
    config.InteractiveShellApp.exec_PYTHONSTARTUP = False
    config.HistoryManager.enabled = False
    application: Any = IPKernelApp.instance(config=config)  # ipykernel has no types
    application.initialize(["-f", connection_file])
    application.shell.user_ns["emit"] = emission.emit
    _watch(application.shell, scratch)
    application.start()


def _watch(shell: ZMQInteractiveShell, scratch: Path) -> None:
    """Arm the guard when the first cell begins; what the kernel itself needed was before."""
    journal = os.open(scratch / GUARD_NAME, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    writable = tuple(os.path.realpath(scratch / name) for name in ("out", "home"))
    guard = Guard(journal, writable)
    sys.addaudithook(guard)

    def next_cell(*_: object) -> None:
        guard.cell += 1  # not the shell's count, which it raises at another moment per version

    shell.events.register("pre_run_cell", next_cell)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
