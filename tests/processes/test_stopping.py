"""Whenever a program is stopped, and whoever dies first, nothing is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import benchlib
from benchlib.processes import Service, run_supervised

ENVIRONMENT = {"PATH": "/usr/bin:/bin"}
MOMENTS = [number / 250 for number in range(30)]  # 0 to 0.116 s: while it starts, and after


def _alive_in(folder: Path) -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if (entry / "cwd").readlink() == folder:
                    found.append((entry / "cmdline").read_text())
            except OSError:
                continue
    return found


def test_a_program_that_is_stopped_at_any_moment_of_its_start_is_gone(tmp_path: Path) -> None:
    for seconds in MOMENTS:
        done = run_supervised(
            ["sh", "-c", "setsid sleep 1000 & sleep 1000"],
            cwd=tmp_path,
            environment=ENVIRONMENT,
            stdin=b"",
            timeout_seconds=seconds,
            stdout_limit_bytes=10,
            stderr_limit_bytes=4000,
            stop_at_stdout_limit=True,
            grace_seconds=0,
        )
        assert done.timed_out
        assert done.stderr == b""
        assert _alive_in(tmp_path) == [], seconds


def test_who_was_started_while_the_process_table_was_read_is_gone_too(tmp_path: Path) -> None:
    """The program ends by itself, behind a child that the table did not show yet."""
    supervisor = Path(benchlib.__file__).with_name("_supervise.py")
    somebody_dead = "1" if os.getppid() != 1 else "2"  # so it stops what it has just started
    for number in range(40):
        program = f"sleep {number / 5_000}; sleep 1000 & exit 1"
        argv = [sys.executable, "-I", "-S", str(supervisor), "2", somebody_dead, "0", "--"]
        subprocess.run(
            [*argv, "sh", "-c", program], cwd=tmp_path, stderr=subprocess.DEVNULL, check=True
        )
        assert _alive_in(tmp_path) == [], number


@pytest.fixture
def errors(tmp_path: Path):  # noqa: ANN201 - an open file
    with (tmp_path / "stderr").open("wb") as file:
        yield file


def test_a_service_is_spoken_to_through_its_pipes(tmp_path: Path, errors) -> None:  # noqa: ANN001
    with Service(["cat"], cwd=tmp_path, environment=ENVIRONMENT, stderr=errors) as service:
        service.stdin.write(b"one\n")
        service.stdin.flush()
        assert service.stdout.readline() == b"one\n"
        assert _alive_in(tmp_path)
    assert _alive_in(tmp_path) == []


def test_a_closed_service_takes_all_that_it_started_with_it(tmp_path: Path, errors) -> None:  # noqa: ANN001
    script = "setsid sleep 1000 & trap '' TERM; echo up; while :; do sleep 1; done"
    with Service(
        ["sh", "-c", script], cwd=tmp_path, environment=ENVIRONMENT, stderr=errors
    ) as service:
        assert service.stdout.readline() == b"up\n"
    assert _alive_in(tmp_path) == []


def test_a_service_that_ended_by_itself_is_closed_without_complaint(tmp_path: Path, errors) -> None:  # noqa: ANN001
    service = Service(["true"], cwd=tmp_path, environment=ENVIRONMENT, stderr=errors)
    assert service.stdout.read() == b""
    service.close()
    service.close()


def test_a_service_in_a_folder_that_is_not_there_is_an_error(tmp_path: Path, errors) -> None:  # noqa: ANN001
    with pytest.raises(FileNotFoundError):
        Service(["true"], cwd=tmp_path / "gone", environment=ENVIRONMENT, stderr=errors)


def test_a_service_dies_with_a_runner_that_was_killed(tmp_path: Path) -> None:
    program = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from benchlib.processes import Service\n"
        "service = Service(['sh', '-c', 'echo up; setsid sleep 1000 & sleep 1000'],"
        f" cwd=Path({str(tmp_path)!r}), environment={ENVIRONMENT!r}, stderr=sys.stderr)\n"
        "print(service.stdout.readline().decode(), flush=True)\n"
        "time.sleep(1000)\n"
    )
    runner = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert runner.stdout is not None
    assert runner.stdout.readline() == b"up\n"
    assert _alive_in(tmp_path)
    os.kill(runner.pid, signal.SIGKILL)
    runner.wait()
    runner.stdout.close()
    deadline = time.monotonic() + 20
    while _alive_in(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert _alive_in(tmp_path) == []
