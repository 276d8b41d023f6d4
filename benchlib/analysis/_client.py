"""papermill, called in this process with a kernel of ours.

The kernel manager is the running interpreter behind the walls of ``_launch``; no
kernelspec of the user's is read or written. The transport is Unix sockets in the
scratch folder, since TCP can't cross a network namespace and ports clash.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
import papermill
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbclient.exceptions import CellTimeoutError, DeadKernelError

from benchlib.analysis.declarations import ParameterValue

logging.getLogger("papermill").addHandler(logging.NullHandler())


@dataclass(frozen=True)
class Limits:
    """How long a plan may take and how much memory its kernel may map.

    Args:
        start_seconds: Until the kernel answers.
        cell_seconds: For each cell.
        plan_seconds: For all cells together.
        memory_bytes: Address space of the kernel; None for no limit.
    """

    start_seconds: int = 60
    cell_seconds: int = 600
    plan_seconds: int = 3600
    memory_bytes: int | None = 8 * 1024**3


@dataclass
class Outcome:
    """How the execution ended.

    Args:
        notebook: The executed notebook as papermill left it; None if no cell ran.
        kind: ``finished``, ``raised``, ``timed-out``, ``died``, ``not-started``.
        cell_index: Where it stopped, in the executed notebook.
        error: Name and value of the exception.
        traceback: Its lines.
        exit_status: Of a kernel that died.
    """

    notebook: nbformat.NotebookNode | None
    kind: str = "finished"
    cell_index: int | None = None
    error: str = ""
    traceback: tuple[str, ...] = ()
    exit_status: int | None = None


@dataclass
class _Running:
    """What is known of the kernel while it runs."""

    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    cell_index: int | None = None
    deadline_passed: bool = False

    def kill(self) -> None:
        self.deadline_passed = True
        for process in self.processes:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # it leads its own group


def run_notebook(
    scratch: Path,
    *,
    argv: list[str],
    environment: Mapping[str, str],
    parameters: Mapping[str, ParameterValue],
    limits: Limits,
    started: Callable[[int], None],
    finished: Callable[[int], None],
) -> Outcome:
    """Execute ``SCRATCH/plan.ipynb`` to ``SCRATCH/run.ipynb``.

    Args:
        scratch: The run's folder; its path holds no brace, which papermill would fill in.
        argv: The kernel's command.
        environment: The kernel's whole environment.
        parameters: Checked values.
        limits: Time and memory.
        started: Called with a cell's index before it runs.
        finished: Called with it after it ran.

    Returns:
        How it ended; a failure is a value here, for the caller knows the plan's cells.
    """
    running = _Running()

    def on_start(cell: object, cell_index: int) -> None:  # noqa: ARG001 - nbclient names them
        if running.cell_index is None:
            begin()
        running.cell_index = cell_index
        started(cell_index)

    def on_complete(cell: object, cell_index: int) -> None:  # noqa: ARG001 - nbclient names them
        finished(cell_index)

    with (scratch / "kernel.log").open("wb") as log, _deadline(limits, running) as begin:
        try:
            notebook = papermill.execute_notebook(
                str(scratch / "plan.ipynb"),
                str(scratch / "run.ipynb"),
                parameters={name: _as_list(value) for name, value in parameters.items()},
                progress_bar=False,
                start_timeout=limits.start_seconds,
                execution_timeout=limits.cell_seconds,
                kernel_manager_class=_manager(scratch, argv, environment, running, log.fileno()),
                shutdown_kernel="immediate",
                on_cell_start=on_start,
                on_cell_complete=on_complete,
            )
        except papermill.PapermillExecutionError as error:
            return Outcome(
                _read(scratch),
                "raised",
                error.cell_index,
                f"{error.ename}: {error.evalue}",
                tuple(error.traceback),
            )
        except CellTimeoutError:
            return Outcome(_read(scratch), "timed-out", running.cell_index)
        except DeadKernelError:
            kind = "timed-out" if running.deadline_passed else "died"
            return Outcome(_read(scratch), kind, running.cell_index, exit_status=_status(running))
        except (RuntimeError, OSError) as error:  # jupyter_client: the kernel never answered
            kind = "timed-out" if running.deadline_passed else "not-started"
            return Outcome(None, kind, error=str(error), exit_status=_status(running))
    return Outcome(notebook)


def _as_list(value: ParameterValue) -> object:
    return list(value) if isinstance(value, tuple) else value


@contextlib.contextmanager
def _deadline(limits: Limits, running: _Running) -> Iterator[Callable[[], None]]:
    """Yield what starts the clock; the kernel's start has a limit of its own."""
    timer = threading.Timer(limits.plan_seconds, running.kill)
    timer.daemon = True
    try:
        yield timer.start
    finally:
        timer.cancel()


def _read(scratch: Path) -> nbformat.NotebookNode | None:
    path = scratch / "run.ipynb"
    if not path.exists():
        return None
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call] # has no types
    return notebook if isinstance(notebook, nbformat.NotebookNode) else None


def _status(running: _Running) -> int | None:
    """Return the kernel's exit status as a shell would: 137 for SIGKILL."""
    for process in running.processes:
        code = process.poll()
        if code is not None:
            return 128 - code if code < 0 else code
    return None


def _manager(
    scratch: Path,
    argv: list[str],
    environment: Mapping[str, str],
    running: _Running,
    log: int,
) -> type[AsyncKernelManager]:
    """Return a kernel manager that starts this one kernel and no other."""
    spec = KernelSpec(argv=argv, display_name="plan", language="python", interrupt_mode="message")

    class PlanKernelManager(AsyncKernelManager):
        """Starts the kernel of one plan."""

        kernel_spec = spec

        def __init__(self, **settings: object) -> None:
            super().__init__(**settings)
            self.transport = "ipc"
            self.ip = str(scratch / "k" / "s")
            self.connection_file = str(scratch / "k" / "c.json")

        async def start_kernel(self, **settings: object) -> None:  # type: ignore[override] # as its parent does
            """Start it with our environment, in the scratch folder, its words in a file."""
            settings |= {
                "env": dict(environment),
                "cwd": str(scratch),
                "stdout": log,
                "stderr": log,
            }
            await super().start_kernel(**settings)
            process = getattr(self.provisioner, "process", None)
            if process is not None:
                running.processes.append(process)

    return PlanKernelManager
