"""Verifiers in every sandbox: on a copy, steered by nothing that the workspace holds."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from sandbox_arms import CASES, FENCED, KINDS, OpenArm, shell, write_files

from benchlib.contracts.boundaries import JudgedProcess, Sandbox

MakeSandbox = Callable[..., Sandbox]
Judge = Callable[..., JudgedProcess]
SECONDS = f"54{os.getpid()}"  # another worker has others


@pytest.fixture
def judge(tmp_path: Path, make_sandbox: MakeSandbox) -> Judge:
    """Run a verifier's script on a workspace in a sandbox of a kind."""

    def run(
        kind: str,
        script: str,
        *,
        workspace: dict[str, bytes] | None = None,
        files: dict[str, bytes] | None = None,
        runtime: tuple[str, ...] = ("python3", "verify.py"),
        seconds: int = 30,
    ) -> JudgedProcess:
        write_files(tmp_path / "v", {"verify.py": script.encode(), **(files or {})})
        (tmp_path / "w").mkdir(exist_ok=True)
        write_files(tmp_path / "w", workspace or {})
        return make_sandbox(kind).judge(
            tmp_path / "w", tmp_path / "v", runtime=runtime, timeout_seconds=seconds
        )

    return run


@pytest.mark.parametrize("kind", KINDS)
def test_a_verdict_is_the_exit_status_and_the_one_object_on_its_channel(
    kind: str, judge: Judge
) -> None:
    script = (
        "import sys, pathlib\n"
        "text = (pathlib.Path(sys.argv[1]) / 'answer').read_text()\n"
        "pathlib.Path(sys.argv[2]).write_text('{\"passed\": true}')\n"
        "print(text); print('diagnosis', file=sys.stderr); sys.exit(1)"
    )
    judged = judge(kind, script, workspace={"answer": b"58"})
    assert (judged.exit_status, judged.timed_out) == (1, False)
    assert (judged.verdict, judged.stdout, judged.stderr) == (
        b'{"passed": true}',
        b"58\n",
        b"diagnosis\n",
    )


@pytest.mark.parametrize("kind", KINDS)
def test_the_verifiers_environment_holds_nothing_of_the_workspace_or_the_operator(
    kind: str, judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PYTHONPATH", "PYTHONSTARTUP", "LD_PRELOAD", "BASH_ENV", "OPERATOR"):
        monkeypatch.setenv(name, "/nowhere")
    script = (
        "import json, os, sys; print(json.dumps([dict(os.environ), os.getcwd(), sys.argv[1:], "
        "sorted(os.listdir(os.environ['HOME']))]))"
    )
    judged = judge(kind, script, workspace={"python3": b"#!/bin/sh\nexit 0\n"})
    environment, working_folder, (workspace, verdict), home = json.loads(judged.stdout)
    allowed = {"PATH", "HOME", "LANG", "LC_ALL", "TZ", "HOSTNAME", "PWD", "TMPDIR"}
    assert environment.keys() <= {*allowed, "GIT_CONFIG_NOSYSTEM"}
    assert not any(part.startswith(workspace) for part in environment["PATH"].split(":"))
    assert not working_folder.startswith(workspace)
    assert not verdict.startswith(workspace)
    assert home == []


@pytest.mark.parametrize("kind", FENCED)
def test_a_verifier_has_no_network_and_cannot_change_itself(kind: str, judge: Judge) -> None:
    script = (
        "import socket\n"
        "try: socket.create_connection(('192.0.2.1', 80), 5)\n"
        "except OSError as error: print(error.errno)\n"
        "try: open('verify.py', 'a')\nexcept OSError as error: print('kept')\n"
    )
    assert judge(kind, script).stdout == b"101\nkept\n"


@pytest.mark.parametrize("kind", KINDS)
def test_a_verifier_may_write_into_its_copy(kind: str, judge: Judge, tmp_path: Path) -> None:
    script = "import sys; open(sys.argv[1] + '/sub/new', 'w').write('x')"
    assert judge(kind, script, workspace={"sub/old": b""}).exit_status == 0
    assert (tmp_path / "w" / "sub" / "new").read_text() == "x"


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_workspace_is_judged_like_any_other(kind: str, judge: Judge) -> None:
    script = "import os, sys; sys.exit(7 if os.listdir(sys.argv[1]) == [] else 0)"
    assert judge(kind, script).exit_status == 7


@pytest.mark.parametrize("kind", KINDS)
def test_a_verifier_that_takes_too_long_is_killed_with_all_it_started(
    kind: str, judge: Judge
) -> None:
    script = (
        f"import subprocess, sys, time\nsubprocess.Popen(['sleep', '{SECONDS}'])\n"
        "print('begun', flush=True)\nopen(sys.argv[2], 'w').write('{}')\ntime.sleep(60)"
    )
    started = time.monotonic()
    judged = judge(kind, script, seconds=2)
    assert time.monotonic() - started < 15
    assert (judged.exit_status, judged.timed_out, judged.stdout) == (None, True, b"begun\n")
    left = subprocess.run(["pgrep", "-f", f"^sleep {SECONDS}$"], check=False, capture_output=True)
    assert left.stdout == b""


@pytest.mark.parametrize("kind", KINDS)
def test_a_program_that_a_verifier_left_behind_does_not_hold_it(kind: str, judge: Judge) -> None:
    script = f"import subprocess\nsubprocess.Popen(['sleep', '{SECONDS}'])\nprint('done')"
    started = time.monotonic()
    judged = judge(kind, script)
    assert time.monotonic() - started < 15
    assert (judged.exit_status, judged.stdout) == (0, b"done\n")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "plant",
    [
        "os.symlink('/etc/passwd', path)",
        "os.mkfifo(path)",
        "os.mkdir(path)",
        "open(path, 'w').write('x' * (1024 * 1024 + 1))",
        "open(path, 'w').truncate(10 ** 12)",
        "None",
    ],
    ids=["link", "fifo", "folder", "one byte too large", "a sparse terabyte", "absent"],
)
def test_a_verdict_that_is_no_small_regular_file_is_no_verdict(
    kind: str, plant: str, judge: Judge
) -> None:
    judged = judge(kind, f"import os, sys\npath = sys.argv[2]\n{plant}")
    assert (judged.exit_status, judged.verdict, judged.stderr) == (0, None, b"")


@pytest.mark.parametrize("kind", KINDS)
def test_a_verdict_of_the_largest_size_is_read(kind: str, judge: Judge) -> None:
    judged = judge(kind, "import sys\nopen(sys.argv[2], 'w').write('x' * (1024 * 1024))")
    assert judged.verdict == b"x" * 1024 * 1024


@pytest.mark.parametrize("kind", KINDS)
def test_a_flood_of_output_is_cut(kind: str, judge: Judge) -> None:
    judged = judge(kind, "import sys\nfor _ in range(300): sys.stdout.write('x' * 100_000)")
    assert judged.exit_status == 0
    assert len(judged.stdout) <= 1024 * 1024


@pytest.mark.parametrize("kind", KINDS)
def test_a_runtime_that_is_not_there_never_judged(kind: str, judge: Judge) -> None:
    judged = judge(kind, "", runtime=("no-such-runtime",))
    assert (judged.exit_status, judged.verdict) == (127, None)
    assert b"no-such-runtime" in judged.stderr


@pytest.mark.parametrize("kind", KINDS)
def test_a_workspace_that_shut_its_folders_is_judged_without_a_crash(
    kind: str, judge: Judge, tmp_path: Path
) -> None:
    (tmp_path / "w" / "shut").mkdir(parents=True)
    (tmp_path / "w" / "shut").chmod(0)
    assert judge(kind, "import os, sys; print(os.listdir(sys.argv[1]))").stdout == b"['shut']\n"


@pytest.mark.parametrize("kind", KINDS)
def test_case_4_planted_verdicts_and_tools_are_worth_nothing(
    kind: str,
    make_sandbox: MakeSandbox,
    open_arm: OpenArm,
    tmp_path: Path,
) -> None:
    sandbox = make_sandbox(kind)
    arm = open_arm(sandbox)
    shell(arm, (CASES / "plant_verdict.sh").read_text())
    arm.copy_workspace(tmp_path / "copy")
    assert (tmp_path / "copy" / "python3").stat().st_mode & 0o111
    write_files(tmp_path / "v", {"verify.py": b"import sys; print(sys.version); sys.exit(1)"})
    judged = sandbox.judge(
        tmp_path / "copy", tmp_path / "v", runtime=("python3", "verify.py"), timeout_seconds=30
    )
    assert (judged.exit_status, judged.verdict) == (1, None)
    assert judged.stdout.startswith(b"3.")


@pytest.mark.docker
def test_under_docker_the_verifier_is_neither_root_nor_able(judge: Judge) -> None:
    script = (
        "import os; print(os.getuid() or os.geteuid());"
        "print([l for l in open('/proc/self/status') if l.startswith(('CapEff', 'NoNew'))])"
    )
    uid, status = judge("docker", script).stdout.decode().splitlines()
    assert int(uid) == (1000 if os.geteuid() == 0 else os.geteuid())
    assert "CapEff:\\t0000000000000000" in status
    assert "NoNewPrivs:\\t1" in status
