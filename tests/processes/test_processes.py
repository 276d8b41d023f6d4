from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchlib.processes import Finished, run_supervised

ENVIRONMENT = {"PATH": "/usr/bin:/bin"}


def _run(*argv: str, folder: Path = Path("/"), **changes: object) -> Finished:
    settings: dict[str, object] = {
        "cwd": folder,
        "environment": ENVIRONMENT,
        "stdin": b"",
        "timeout_seconds": 20.0,
        "stdout_limit_bytes": 1000,
        "stderr_limit_bytes": 1000,
        "stop_at_stdout_limit": True,
        "grace_seconds": 0.5,
        **changes,
    }
    return run_supervised(argv, **settings)  # type: ignore[arg-type]


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize(
    ("script", "status", "number"),
    [("exit 0", 0, None), ("exit 3", 3, None), ("kill -SEGV $$", None, signal.SIGSEGV)],
)
def test_the_end_of_a_program_is_told_as_it_was(
    script: str, status: int | None, number: int | None
) -> None:
    done = _run("sh", "-c", script)
    assert (done.exit_status, done.signal, done.spawn_error) == (status, number, None)


@pytest.mark.parametrize("program", ["no-such-program", "/etc/passwd", "/etc"])
def test_a_program_that_cannot_start_is_a_spawn_error(program: str) -> None:
    done = _run(program)
    assert done.spawn_error
    assert done.exit_status is None


def test_a_folder_that_is_not_there_is_a_spawn_error(tmp_path: Path) -> None:
    assert _run("true", folder=tmp_path / "gone").spawn_error


def test_a_program_that_reads_nothing_is_not_at_fault() -> None:
    assert _run("true", stdin=b"x" * 1_000_000).exit_status == 0


def test_a_program_that_prints_before_it_reads_does_not_deadlock() -> None:
    script = "head -c 300000 /dev/zero; cat | wc -c >&2"
    done = _run("sh", "-c", script, stdin=b"x" * 300_000, stdout_limit_bytes=400_000)
    assert done.stdout_bytes == 300_000
    assert done.stderr.strip() == b"300000"


def test_the_environment_is_what_was_given_and_nothing_else() -> None:
    done = _run("env", environment={"PATH": "/usr/bin", "ONE": "1"})
    assert sorted(done.stdout.split()) == [b"ONE=1", b"PATH=/usr/bin"]


def test_no_other_descriptor_is_inherited() -> None:
    read, write = os.pipe()
    os.set_inheritable(write, True)
    try:
        done = _run("ls", "/proc/self/fd")
        assert len(done.stdout.split()) == 4  # three, and the listing's own
    finally:
        os.close(read)
        os.close(write)


@pytest.mark.parametrize(
    "start",
    [
        "Popen(SLEEP)",
        "signal(SIGHUP, SIG_IGN); Popen(SLEEP, stdout=DEVNULL, stderr=DEVNULL)",
        "fork() or (setsid(), Popen(SLEEP, start_new_session=True, stdout=DEVNULL), _exit(0))",
    ],
    ids=["holds-the-pipe", "in-the-background", "double-forked"],
)
def test_what_outlives_the_program_is_named_and_killed(start: str) -> None:
    started = time.monotonic()
    # `Popen` returns when the exec is done: until then it would be named after its parent.
    program = f"""
from os import _exit, fork, setsid, wait
from signal import SIG_IGN, SIGHUP, signal
from subprocess import DEVNULL, Popen
SLEEP = ["sleep", "300"]
{start}
{"wait()" if "fork" in start else ""}
print("done")
"""
    done = _run(sys.executable, "-c", program)
    assert done.exit_status == 0
    assert done.stdout == b"done\n"
    assert [one.argv for one in done.survivors] == ["sleep 300"]
    assert not _is_alive(done.survivors[0].pid)
    assert time.monotonic() - started < 10


def test_a_program_that_ignores_sigterm_is_killed_after_the_grace() -> None:
    done = _run("sh", "-c", "trap '' TERM; while :; do sleep 1; done", timeout_seconds=0.3)
    assert done.timed_out
    assert done.exit_status is None
    assert 700 <= done.milliseconds < 6000


def test_a_program_that_prints_for_ever_ends_at_its_limit_and_not_at_its_time() -> None:
    done = _run("yes", timeout_seconds=60)
    assert done.stdout_overflowed
    assert not done.timed_out
    assert len(done.stdout) == 1000
    assert done.milliseconds < 10_000


def test_exactly_the_limit_is_no_overflow() -> None:
    assert not _run("head", "-c", "1000", "/dev/zero").stdout_overflowed
    assert _run("head", "-c", "1001", "/dev/zero").stdout_overflowed


def test_stderr_without_end_is_cut_and_counted() -> None:
    done = _run("sh", "-c", "head -c 5000000 /dev/zero >&2")
    assert done.exit_status == 0
    assert (len(done.stderr), done.stderr_bytes) == (1000, 5_000_000)


def test_everything_dies_with_a_runner_that_was_killed(tmp_path: Path) -> None:
    program = (
        "from benchlib.processes import run_supervised\n"
        "from pathlib import Path\n"
        "run_supervised(['sh', '-c', 'echo $$ > pid; setsid sleep 300 & sleep 301'],"
        " cwd=Path('.'), environment={'PATH': '/usr/bin:/bin'}, stdin=b'', timeout_seconds=60,"
        " stdout_limit_bytes=10, stderr_limit_bytes=10, stop_at_stdout_limit=True)\n"
    )
    runner = subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path)
    pid_file = tmp_path / "pid"
    deadline = time.monotonic() + 20
    while not (pid_file.exists() and pid_file.read_text()) and time.monotonic() < deadline:
        time.sleep(0.01)
    pid = int(pid_file.read_text())
    runner.kill()
    runner.wait()
    while _is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not _is_alive(pid)
