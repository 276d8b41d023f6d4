"""What holds for an arm in every sandbox; each test runs a real one."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import docker
import pytest
from sandbox_arms import (
    CASES,
    FENCED,
    KINDS,
    PLAIN_ENVIRONMENT,
    OpenArm,
    python,
    seal_folder,
    shell,
    write_files,
)

from benchlib.contracts.boundaries import Sandbox, SealedWorkspace
from benchlib.errors import InputError
from benchlib.sandbox._files import remove_tree

MakeSandbox = Callable[..., Sandbox]
SLEEPS = f"sleep 41{os.getpid()}", f"sleep 42{os.getpid()}"  # another worker has others
TELLTALE = re.compile(
    r"benchlib|benchmark|\b(arm|control|treatment|cohort|fixture|condition)s?\b", re.IGNORECASE
)


@pytest.mark.parametrize("kind", KINDS)
def test_an_arm_begins_as_the_sealed_tree_with_one_commit_and_a_clean_status(
    kind: str, make_sandbox: MakeSandbox, open_arm: OpenArm, sealed: SealedWorkspace
) -> None:
    arm = open_arm(make_sandbox(kind))
    turn = shell(arm, "git status --porcelain; git log --format=%s; cat latest; ./run.sh && id -u")
    assert turn.stderr == b""
    lines = turn.stdout.decode().splitlines()
    assert lines[:2] == ["Initial commit", "ANSWER = 41"]
    entries = [entry._replace(permissions=0) for entry in arm.finished().entries]
    assert entries == [entry._replace(permissions=0) for entry in sealed.entries]


@pytest.mark.parametrize("kind", KINDS)
def test_both_arms_see_the_same_object_ids_times_and_image(
    kind: str, make_sandbox: MakeSandbox, open_arm: OpenArm
) -> None:
    sandbox = make_sandbox(kind)
    arms = open_arm(sandbox), open_arm(sandbox)
    look = "git rev-parse HEAD; find . -path ./.git -prune -o -type f -printf '%p %T@ %m\\n' | sort"
    first, second = (shell(arm, look).stdout for arm in arms)
    assert first == second
    assert b"app.py 1577836800.0000000000 644" in first
    assert arms[0].facts == arms[1].facts


@pytest.mark.parametrize("kind", KINDS)
def test_the_environment_is_made_from_nothing_and_the_home_is_fresh(
    kind: str,
    make_sandbox: MakeSandbox,
    open_arm: OpenArm,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPERATOR_VARIABLE", "seen")
    monkeypatch.setenv("PYTHONPATH", "/operator")
    arm = open_arm(make_sandbox(kind))
    script = (
        "import json, os; print(json.dumps({'e': dict(os.environ), 'h': sorted(p for d, _, f in "
        "os.walk(os.environ['HOME']) for p in f)}))"
    )
    seen = json.loads(python(arm, script).stdout)
    environment = seen["e"]
    assert not {"OPERATOR_VARIABLE", "PYTHONPATH"} & environment.keys()
    assert seen["h"] == []
    assert arm.facts.home_was_fresh
    home = environment["HOME"]
    assert home == arm.paths.home
    for name in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        assert environment[name].startswith(f"{home}/")
    assert (environment["TZ"], environment["LC_ALL"]) == ("UTC", "C.UTF-8")
    assert (arm.facts.time_zone, arm.facts.locale) == ("UTC", "C.UTF-8")


@pytest.mark.parametrize("kind", KINDS)
def test_case_2_the_operators_home_is_not_the_arms(
    kind: str,
    make_sandbox: MakeSandbox,
    open_arm: OpenArm,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    subprocess.run(["sh", str(CASES / "make_operator_home.sh"), str(tmp_path)], check=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "home" / ".claude"))
    arm = open_arm(make_sandbox(kind))
    found = shell(arm, 'env; find ~ -type f; grep -rs OPERATOR-CANARY ~ "$CLAUDE_CONFIG_DIR"')
    assert b"OPERATOR" not in found.stdout
    assert str(tmp_path).encode() not in found.stdout


@pytest.mark.parametrize("kind", FENCED)
def test_case_2_no_parent_of_the_workspace_holds_anything_of_the_operators(
    kind: str,
    make_sandbox: MakeSandbox,
    open_arm: OpenArm,
    tmp_path: Path,
) -> None:
    subprocess.run(["sh", str(CASES / "make_operator_home.sh"), str(tmp_path)], check=True)
    sandbox = (
        make_sandbox(kind, scratch=tmp_path / "work") if kind != "docker" else make_sandbox(kind)
    )
    sandbox.preflight(PLAIN_ENVIRONMENT)
    arm = open_arm(sandbox)
    found = shell(
        arm,
        "d=$(pwd); while :; do ls -a $d; cat $d/*.md; [ $d = / ] && break; d=$(dirname $d); done;"
        "grep -rs OPERATOR-CANARY /home /root /tmp /opt /etc /var/tmp; ls /root /home",
    )
    assert b"OPERATOR" not in found.stdout
    assert b"AGENTS.md" not in found.stdout
    assert arm.facts.parents_hidden


@pytest.mark.parametrize("kind", FENCED)
def test_nothing_that_an_agent_can_look_at_tells_what_it_takes_part_in(
    kind: str, make_sandbox: MakeSandbox, open_arm: OpenArm, tmp_path: Path
) -> None:
    (door := tmp_path / "d").mkdir()
    arm = open_arm(make_sandbox(kind, label="benchlib-cohort-control"), door=door)
    turn = shell(
        arm,
        "env; hostname; pwd; ps -ef; cat /proc/*/cmdline /proc/*/environ | tr '\\0' ' ';"
        "cat /proc/self/mountinfo /proc/self/cgroup /etc/passwd /etc/hosts; git log;"
        "cat .git/config; ls -laR /workspace /home /opt/agent /run /tmp",
    )
    assert turn.stdout
    shown = turn.stdout.decode(errors="replace").replace(str(tmp_path), "")
    assert TELLTALE.findall(_without_engines_folder(kind, shown)) == []


def _without_engines_folder(kind: str, shown: str) -> str:
    """Where the engine keeps its layers is the operator's choice, and stands in the mounts."""
    if kind != "docker":
        return shown
    client = docker.from_env()
    try:
        return shown.replace(client.info()["DockerRootDir"], "")
    finally:
        client.close()


@pytest.mark.parametrize("kind", FENCED)
def test_an_agent_is_user_1000_without_capabilities_and_new_privileges(
    kind: str, make_sandbox: MakeSandbox, open_arm: OpenArm
) -> None:
    arm = open_arm(make_sandbox(kind))
    status = shell(arm, "id -u; id -g; id -un; cat /proc/self/status; touch /x /usr/x /opt/agent/x")
    lines = status.stdout.decode().split("\n")
    assert lines[:3] == ["1000", "1000", "agent"]
    assert "CapEff:\t0000000000000000" in lines
    assert "CapBnd:\t0000000000000000" in lines
    assert "NoNewPrivs:\t1" in lines
    assert status.stderr.count(b"cannot touch") == 3
    assert arm.facts.user == "1000:1000"
    assert arm.facts.limits.capabilities_dropped
    assert arm.facts.limits.no_new_privileges


@pytest.mark.parametrize("kind", FENCED)
def test_without_a_network_there_is_only_loopback(
    kind: str, make_sandbox: MakeSandbox, open_arm: OpenArm
) -> None:
    arm = open_arm(make_sandbox(kind))
    turn = python(
        arm,
        "import os, socket; print(os.listdir('/sys/class/net') if os.path.exists('/sys') else "
        "[n for _, n in socket.if_nameindex()])\n"
        "try: socket.create_connection(('192.0.2.1', 80), 5)\nexcept OSError as e: print(e.errno)",
    )
    assert turn.stdout.decode().split("\n")[:2] == ["['lo']", "101"]  # network is unreachable
    assert arm.facts.limits.network == "none"


@pytest.mark.parametrize("kind", KINDS)
def test_the_door_is_the_one_way_out(
    kind: str, make_sandbox: MakeSandbox, open_arm: OpenArm, door: Path
) -> None:
    arm = open_arm(make_sandbox(kind), door=door)
    turn = python(
        arm,
        "import socket; s = socket.socket(socket.AF_UNIX); "
        f"s.connect('{arm.paths.door}/model.sock'); s.sendall(b'hello'); print(s.recv(9))",
    )
    assert turn.stdout == b"b'HELLO'\n", turn.stderr


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Path]:
    """A folder with a socket that answers in capitals."""
    folder = tmp_path / "d"
    folder.mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "model.sock"))
        (folder / "model.sock").chmod(0o666)
        server.listen()

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(connection.recv(99).upper())

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        yield folder
        thread.join(5)


@pytest.mark.parametrize("kind", KINDS)
def test_agent_files_arrive_executable_where_they_are_scripts(
    kind: str, make_sandbox: MakeSandbox, open_arm: OpenArm
) -> None:
    files = {"go": b'#!/bin/sh\ncat "$(dirname "$0")/data/task.json"\n', "data/task.json": b"{}"}
    arm = open_arm(make_sandbox(kind), agent_files=files)
    turn = arm.run(
        (f"{arm.paths.agent}/go",), environment={}, timeout_seconds=20, output_limit_bytes=99
    )
    assert turn.stdout == b"{}"


@pytest.mark.parametrize("kind", FENCED)
def test_agent_files_can_be_read_and_not_written(
    kind: str, make_sandbox: MakeSandbox, open_arm: OpenArm
) -> None:
    arm = open_arm(make_sandbox(kind), agent_files={"task.json": b"{}"})
    turn = shell(arm, "echo x > /opt/agent/task.json; rm -f /opt/agent/task.json; cat /opt/agent/*")
    assert turn.stdout == b"{}"


@pytest.mark.parametrize("kind", KINDS)
def test_an_agent_file_outside_its_folder_is_refused(
    kind: str, make_sandbox: MakeSandbox, open_arm: OpenArm
) -> None:
    with pytest.raises(InputError) as caught:
        open_arm(make_sandbox(kind), agent_files={"../workspace/x": b""})
    assert "../workspace/x" in caught.value.found


@pytest.mark.parametrize("kind", KINDS)
def test_a_second_turn_finds_workspace_and_home_as_the_first_left_them(
    kind: str, make_sandbox: MakeSandbox, open_arm: OpenArm
) -> None:
    arm = open_arm(make_sandbox(kind))
    shell(arm, "echo one > note.txt; echo session > ~/journal; rm README.md")
    assert shell(arm, "cat note.txt ~/journal; ls README.md").stdout == b"one\nsession\n"
    assert arm.read_home("journal", limit_bytes=4) == b"sess"


@pytest.mark.parametrize("kind", KINDS)
def test_what_an_adapter_adds_to_the_environment_arrives(
    kind: str, make_sandbox: MakeSandbox, open_arm: OpenArm
) -> None:
    turn = open_arm(make_sandbox(kind)).run(
        ("sh", "-c", 'printf "%s" "$ADDED"'),
        environment={"ADDED": "a b\n=ö"},
        timeout_seconds=20,
        output_limit_bytes=99,
    )
    assert turn.stdout.decode() == "a b\n=ö"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("argv", "statuses"),
    [(("sh", "-c", "exit 3"), {3}), (("no-such-program",), {126, 127})],  # as a shell says it
)
def test_the_exit_status_is_told(
    kind: str,
    argv: tuple[str, ...],
    statuses: set[int],
    make_sandbox: MakeSandbox,
    open_arm: OpenArm,
) -> None:
    record = (
        open_arm(make_sandbox(kind))
        .run(argv, environment={}, timeout_seconds=20, output_limit_bytes=999)
        .record
    )
    assert record.exit_status in statuses
    assert (record.timed_out, record.survivors) == (False, ())
    assert record.argv == argv


@pytest.mark.parametrize("kind", KINDS)
def test_a_timeout_kills_everything_and_names_what_was_alive(
    kind: str, make_sandbox: MakeSandbox, open_arm: OpenArm
) -> None:
    arm = open_arm(make_sandbox(kind))
    started = time.monotonic()
    turn = shell(arm, f"echo begun; (setsid {SLEEPS[0]} &) ; {SLEEPS[1]}; echo never", seconds=2)
    assert time.monotonic() - started < 10
    record = turn.record
    assert (record.exit_status, record.signal, record.timed_out) == (None, 9, True)
    assert 2000 <= record.milliseconds < 4000
    assert turn.stdout == b"begun\n"
    assert set(SLEEPS) <= {one.argv for one in record.survivors}
    assert [_alive(one) for one in SLEEPS] == [[], []]


@pytest.mark.parametrize("kind", KINDS)
def test_a_process_that_holds_the_output_open_does_not_hold_the_turn(
    kind: str, make_sandbox: MakeSandbox, open_arm: OpenArm
) -> None:
    arm = open_arm(make_sandbox(kind))
    started = time.monotonic()
    turn = shell(arm, f"{SLEEPS[0]} & echo done", seconds=60)
    assert time.monotonic() - started < 10
    assert turn.stdout == b"done\n"
    assert [one.argv for one in turn.record.survivors] == [SLEEPS[0]]
    assert _alive(SLEEPS[0]) == []


@pytest.mark.parametrize("kind", KINDS)
def test_case_3_what_outlives_the_agent_is_named_and_writes_nothing_late(
    kind: str, make_sandbox: MakeSandbox, open_arm: OpenArm, tmp_path: Path
) -> None:
    arm = open_arm(make_sandbox(kind))
    turn = shell(arm, (CASES / "forge_background.sh").read_text())
    assert turn.record.exit_status == 0
    assert any("reward.txt" in one.argv for one in turn.record.survivors)
    first = arm.finished()
    copies = tmp_path / "first", tmp_path / "second"
    arm.copy_workspace(copies[0])
    time.sleep(1)
    arm.copy_workspace(copies[1])
    assert arm.finished() == first
    assert [seal_folder(copy).sha256 for copy in copies] == [seal_folder(copies[0]).sha256] * 2


def _alive(argv: str) -> list[int]:
    wanted = argv.replace(" ", "\0").encode() + b"\0"
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if words == wanted:
                found.append(int(folder.name))
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_huge_output_is_counted_and_only_its_head_is_kept(
    kind: str, make_sandbox: MakeSandbox, open_arm: OpenArm
) -> None:
    arm = open_arm(make_sandbox(kind))
    turn = shell(arm, "head -c 30000000 /dev/zero; printf x%.0s $(seq 50) >&2", limit=1000)
    assert (len(turn.stdout), turn.record.stdout_bytes) == (1000, 30_000_000)
    assert (turn.stderr, turn.record.stderr_bytes) == (b"x" * 50, 50)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("planted", ["link", "folder link", "fifo", "folder", "absent"])
def test_a_log_that_is_no_regular_file_is_not_read(
    kind: str, planted: str, make_sandbox: MakeSandbox, open_arm: OpenArm
) -> None:
    plant = {
        "link": "mkdir ~/logs; ln -s /etc/passwd ~/logs/log",
        "folder link": "ln -s /etc ~/logs; ln -s passwd log",
        "fifo": "mkdir ~/logs; mkfifo ~/logs/log",
        "folder": "mkdir -p ~/logs/log",
        "absent": "true",
    }
    arm = open_arm(make_sandbox(kind))
    shell(arm, plant[planted])
    name = "logs/passwd" if planted == "folder link" else "logs/log"
    assert arm.read_home(name, limit_bytes=100) is None


@pytest.mark.parametrize("kind", KINDS)
def test_odd_names_and_files_come_back_as_they_are(
    kind: str, make_sandbox: MakeSandbox, open_arm: OpenArm, tmp_path: Path
) -> None:
    arm = open_arm(make_sandbox(kind))
    turn = python(
        arm,
        "import os\n"
        "for name in (b'odd\\xff', b'line\\nbreak', b'-rf', b'\\\\back', b' ', 'ö'.encode()):\n"
        "    open(name, 'wb').write(name)\n"
        "os.symlink('/etc/passwd', 'outside'); os.symlink('./src//app.py', 'untidy')\n"
        "os.mkfifo('pipe'); os.mkdir('empty'); os.makedirs('deep/' * 60)\n"
        "os.link('-rf', 'same'); os.chmod('same', 0o4640)\n",
    )
    assert turn.record.exit_status == 0, turn.stderr
    found = {entry.path: entry for entry in arm.finished().entries}
    names = [os.fsdecode(b"odd\xff"), "line\nbreak", "-rf", "\\back", " ", "ö"]
    assert [found[name].mode for name in names] == ["100644"] * 6
    assert found["outside"].mode == found["untidy"].mode == "120000"
    assert (found["pipe"].mode, found["empty"].mode) == ("fifo", "folder")
    assert found["same"].permissions == found["-rf"].permissions == 0o4640
    arm.copy_workspace(tmp_path / "copy")
    copied = {entry.path for entry in seal_folder(tmp_path / "copy").entries}
    assert copied == found.keys() - {"pipe"}
    assert os.readlink(tmp_path / "copy" / "untidy") == "./src//app.py"  # noqa: PTH115
    assert (tmp_path / "copy" / "same").stat().st_mode & 0o7777 == 0o640


DEEPER = """
import os, sys
for number in range(int(sys.argv[1])):
    os.mkdir("d" * int(sys.argv[2])); os.chdir("d" * int(sys.argv[2]))
open("bottom", "w").close()
"""


@pytest.mark.parametrize("kind", [*KINDS, pytest.param("archive", marks=pytest.mark.docker)])
@pytest.mark.parametrize(("folders", "length"), [(1500, 1), (40, 200)], ids=["many", "long"])
def test_folders_deeper_than_a_stack_or_a_path_can_go_hold_nothing_up(
    kind: str,
    folders: int,
    length: int,
    make_sandbox: MakeSandbox,
    open_arm: OpenArm,
    tmp_path: Path,
) -> None:
    by_archive = {"may_read_upper": False} if kind == "archive" else {}
    sandbox = make_sandbox("docker" if by_archive else kind, **by_archive)
    arm = open_arm(sandbox)
    turn = arm.run(
        ("python3", "-c", DEEPER, str(folders), str(length)),
        environment={},
        timeout_seconds=60,
        output_limit_bytes=999,
    )
    assert turn.record.exit_status == 0, turn.stderr
    deep = [entry for entry in arm.finished().entries if entry.path.startswith("d")]
    assert [entry.mode for entry in deep] == ["100644" if length == 1 else "too-deep"]
    arm.copy_workspace(tmp_path / "copy")
    assert (tmp_path / "copy" / "README.md").is_file()
    (tmp_path / "v").mkdir()
    (tmp_path / "v" / "v.py").write_text("import sys; sys.exit(4)")
    judged = sandbox.judge(
        tmp_path / "copy", tmp_path / "v", runtime=("python3", "v.py"), timeout_seconds=60
    )
    assert judged.exit_status == 4
    arm.close()
    remove_tree(tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_agent_does_to_its_repository_is_its_own_business(
    kind: str, make_sandbox: MakeSandbox, open_arm: OpenArm, tmp_path: Path
) -> None:
    arm = open_arm(make_sandbox(kind))
    before = arm.finished()
    shell(arm, "git config core.pager evil; git commit -q --allow-empty -m x")
    assert arm.finished().entries == before.entries
    shell(arm, "rm -rf .git; echo gitdir: /elsewhere > .git")
    assert arm.finished().entries == before.entries
    arm.copy_workspace(tmp_path / "copy")
    assert not (tmp_path / "copy" / ".git").exists()


@pytest.mark.parametrize("kind", KINDS)
def test_closing_twice_leaves_nothing_and_is_no_error(
    kind: str, make_sandbox: MakeSandbox, open_arm: OpenArm
) -> None:
    sandbox = make_sandbox(kind, label="closing")
    arm = open_arm(sandbox)
    shell(arm, "mkdir shut; chmod 0 shut")
    arm.close()
    arm.close()
    assert sandbox.remove_leftovers() == ()


@pytest.mark.parametrize("kind", KINDS)
def test_a_tree_that_has_empty_folders_and_hard_names_is_laid_as_it_is(
    kind: str, make_sandbox: MakeSandbox, open_arm: OpenArm, tmp_path: Path
) -> None:
    write_files(tmp_path / "t", {"a" * 200 + "/" + "b" * 150: b"1", os.fsdecode(b"\xfe"): b"2"})
    (tmp_path / "t" / "empty" / "er").mkdir(parents=True)
    workspace = seal_folder(tmp_path / "t")
    arm = open_arm(make_sandbox(kind), workspace=workspace)
    shell(arm, "true")
    assert arm.finished().entries == workspace.entries


@pytest.mark.parametrize("kind", FENCED)
def test_only_what_certification_may_read_stands_around_a_workspace(
    kind: str, make_sandbox: MakeSandbox
) -> None:
    surfaces = make_sandbox(kind).image_surface()
    assert {"home", "parents", "packages", "caches"} <= surfaces.keys()
    assert all(folder.is_dir() for folder in surfaces.values())
    assert list(surfaces["home"].iterdir()) == []
