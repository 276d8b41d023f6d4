"""A plain process: an environment from nothing and an end that leaves no process, no more.

It sees the whole machine, and nothing bounds it. Its Python is a virtual environment
without packages, so that what the operator installed is not at hand by accident.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from benchlib.contracts.attempt import Survivor
from benchlib.contracts.boundaries import ArmPaths
from benchlib.errors import escaped
from benchlib.processes import run_supervised
from benchlib.sandbox._local_arm import Folders, Run
from benchlib.sandbox._places import arm_environment, judge_environment
from benchlib.sandbox._programs import Ending


def open_plain(folders: Folders, door: Path | None) -> ArmPaths:
    """Lay what a plain process finds by path, for nothing can be bound in place."""
    _lay_programs(folders)
    if door:
        folders.door.symlink_to(door.resolve())  # short: a socket's path has 107 bytes
    return ArmPaths(
        workspace=str(folders.workspace),
        home=str(folders.home),
        agent=str(folders.agent),
        door=str(folders.door),
    )


def _lay_programs(folders: Folders) -> None:
    """Make a Python without packages: a virtual environment is a link and two lines."""
    programs = Path(sys.base_prefix) / "bin"
    folders.programs.mkdir()
    (folders.programs / "python3").symlink_to(programs / f"python3.{sys.version_info[1]}")
    settings = f"home = {programs}\ninclude-system-site-packages = false\n"
    (folders.root / "pyvenv.cfg").write_text(settings, "utf-8")
    (folders.root / "tmp").mkdir()


def _plain_environment(folders: Folders) -> dict[str, str]:
    return {
        "TMPDIR": str(folders.root / "tmp"),
        "GIT_CONFIG_NOSYSTEM": "1",  # a system-wide configuration can name programs to run
    }


def _plain_path(folders: Folders) -> str:
    return f"{folders.programs}:/usr/local/bin:/usr/bin:/bin"


def arm_plain(folders: Folders) -> Run:
    """Return what runs an arm's programs as plain processes."""

    def run(
        argv: tuple[str, ...], added: Mapping[str, str], seconds: float, limit_bytes: int
    ) -> Ending:
        variables = arm_environment(str(folders.home), _plain_path(folders))
        variables |= _plain_environment(folders) | dict(added)
        return _run_plain(argv, folders.workspace, variables, seconds, limit_bytes)

    return run


def judge_plain(folders: Folders, verifier: Path) -> Run:
    """The verifier is copied: what it runs of the workspace could write to the original."""
    _lay_programs(folders)
    shutil.copytree(verifier, folders.root / "verifier", symlinks=True)
    variables = judge_environment(str(folders.home), _plain_path(folders))
    variables |= _plain_environment(folders)

    def run(
        argv: tuple[str, ...], _added: Mapping[str, str], seconds: float, limit_bytes: int
    ) -> Ending:
        return _run_plain(argv, folders.root / "verifier", variables, seconds, limit_bytes)

    return run


def _run_plain(
    argv: tuple[str, ...],
    working_folder: Path,
    variables: Mapping[str, str],
    seconds: float,
    limit_bytes: int,
) -> Ending:
    program = shutil.which(argv[0], path=variables["PATH"]) if "/" not in argv[0] else argv[0]
    finished = run_supervised(
        [program or argv[0], *argv[1:]],
        cwd=working_folder,
        environment=variables,
        stdin=b"",
        timeout_seconds=seconds,
        stdout_limit_bytes=limit_bytes,
        stderr_limit_bytes=limit_bytes,
        stop_at_stdout_limit=False,
        grace_seconds=0,
    )
    message = f"{argv[0]}: {finished.spawn_error}\n".encode() if finished.spawn_error else b""
    return Ending(
        exit_status=127 if finished.spawn_error else finished.exit_status,
        signal=finished.signal,
        timed_out=finished.timed_out,
        milliseconds=finished.milliseconds,
        stdout=finished.stdout,
        stderr=(finished.stderr + message)[:limit_bytes],
        stdout_bytes=finished.stdout_bytes,
        stderr_bytes=finished.stderr_bytes + len(message),
        survivors=tuple(
            Survivor(pid=one.pid, argv=escaped(one.argv)[:1000]) for one in finished.survivors
        ),
    )
