"""What is Docker's alone: identity of images, limits that hold, clean-up by label."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import docker
import pytest
from sandbox_arms import PLAIN_ENVIRONMENT, OpenArm, python, seal_folder, shell, write_files

from benchlib.contracts.attempt import Limits
from benchlib.contracts.boundaries import Sandbox, SealedWorkspace
from benchlib.contracts.challenge import Environment
from benchlib.errors import OutsideError
from benchlib.sandbox import DockerSandbox
from benchlib.sandbox._image import load_with_base, plan_image, write_layer

pytestmark = pytest.mark.docker
MakeSandbox = Callable[..., Sandbox]


def test_equal_trees_have_one_image_id_that_is_known_before_it_is_loaded(
    sealed: SealedWorkspace, engine: docker.DockerClient, tmp_path: Path
) -> None:
    subprocess.run(["cp", "-r", str(sealed.root), str(tmp_path / "again")], check=True)
    again = seal_folder(tmp_path / "again")
    (tmp_path / "layer").mkdir()
    layer = write_layer(again, tmp_path / "layer")
    planned = plan_image(engine.images.get("benchlib/base:bookworm"), layer, again.sha256)
    first, second = DockerSandbox("test"), DockerSandbox("test")
    assert first.load(sealed) == second.load(again) == planned.id
    assert first.load(sealed) == planned.id, "loading again changes nothing"
    assert engine.images.get(planned.id).id == planned.id


@pytest.fixture
def own_tree(tmp_path: Path) -> SealedWorkspace:
    """A tree of which no other test has the image."""
    write_files(tmp_path / "own", {"random": os.urandom(16)})
    return seal_folder(tmp_path / "own")


def test_an_image_that_was_lost_comes_back_under_the_same_id(
    own_tree: SealedWorkspace, engine: docker.DockerClient, open_arm: OpenArm
) -> None:
    sandbox = DockerSandbox("test")
    image_id = sandbox.load(own_tree)
    engine.images.remove(image_id, force=True)
    assert DockerSandbox("test").load(own_tree) == image_id
    engine.images.remove(image_id, force=True)
    assert open_arm(sandbox, workspace=own_tree).facts.image == image_id


def test_an_engine_that_wants_all_layers_gets_them_and_gives_the_same_id(
    own_tree: SealedWorkspace, engine: docker.DockerClient, tmp_path: Path
) -> None:
    image_id = DockerSandbox("test").load(own_tree)
    engine.images.remove(image_id, force=True)
    base = engine.images.get("benchlib/base:bookworm")
    layer = write_layer(own_tree, tmp_path)
    plan = plan_image(base, layer, own_tree.sha256)
    assert load_with_base(engine, base, plan, layer) is None
    assert engine.images.get(image_id).id == image_id == plan.id


def test_a_changed_byte_is_another_image(tmp_path: Path) -> None:
    write_files(tmp_path / "a", {"x": b"1"})
    write_files(tmp_path / "b", {"x": b"2"})
    sandbox = DockerSandbox("test")
    assert sandbox.load(seal_folder(tmp_path / "a")) != sandbox.load(seal_folder(tmp_path / "b"))


def test_the_facts_are_the_engines_own_account(
    make_sandbox: MakeSandbox, open_arm: OpenArm, sealed: SealedWorkspace
) -> None:
    sandbox = make_sandbox("docker")
    environment = Environment(network="none", milli_cpus=500, memory_mb=128, max_processes=32)
    facts = open_arm(sandbox, environment=environment).facts
    assert facts.limits == Limits(
        milli_cpus=500,
        memory_bytes=128 * 2**20,
        max_processes=32,
        network="none",
        capabilities_dropped=True,
        no_new_privileges=True,
    )
    assert (facts.sandbox, facts.isolation, facts.image) == (
        "docker",
        "container",
        sandbox.load(sealed),
    )
    assert facts.workspace_sha256 == sealed.sha256
    assert facts.engine.startswith("docker ")


def test_memory_is_bounded(make_sandbox: MakeSandbox, open_arm: OpenArm) -> None:
    environment = PLAIN_ENVIRONMENT.model_copy(update={"memory_mb": 64})
    arm = open_arm(make_sandbox("docker"), environment=environment)
    turn = python(arm, "b = bytearray(200 * 2**20); print('had it')")
    assert (turn.record.exit_status, turn.stdout) == (137, b"")


def test_processes_are_bounded(make_sandbox: MakeSandbox, open_arm: OpenArm) -> None:
    environment = PLAIN_ENVIRONMENT.model_copy(update={"max_processes": 16})
    arm = open_arm(make_sandbox("docker"), environment=environment)
    script = (
        "import os, time\nn = 0\ntry:\n"
        "    while n < 40:\n"
        "        if os.fork() == 0: time.sleep(30); os._exit(0)\n"
        "        n += 1\n"
        "except OSError: pass\nprint(n)"
    )
    turn = python(arm, script)
    assert int(turn.stdout) < 16
    assert len(turn.record.survivors) == int(turn.stdout)


def test_the_processor_is_bounded(make_sandbox: MakeSandbox, open_arm: OpenArm) -> None:
    environment = PLAIN_ENVIRONMENT.model_copy(update={"milli_cpus": 200})
    arm = open_arm(make_sandbox("docker"), environment=environment)
    script = (
        "import time\nbegin, spent = time.monotonic(), time.process_time()\n"
        "while time.monotonic() - begin < 3: pass\n"
        "print(time.process_time() - spent)"
    )
    assert float(python(arm, script).stdout) < 3 * 0.2 * 1.5


def test_the_scratch_folder_is_bounded_and_new_in_each_turn(
    make_sandbox: MakeSandbox, open_arm: OpenArm
) -> None:
    environment = PLAIN_ENVIRONMENT.model_copy(update={"memory_mb": 64})
    arm = open_arm(make_sandbox("docker"), environment=environment)
    turn = shell(arm, "df -m --output=size /tmp | tail -1; echo x > /tmp/kept; ls /tmp")
    assert turn.stdout.split() == [b"64", b"kept"]
    assert shell(arm, "ls /tmp").stdout == b""


def test_an_open_network_is_the_engines_bridge(
    make_sandbox: MakeSandbox, open_arm: OpenArm
) -> None:
    environment = PLAIN_ENVIRONMENT.model_copy(update={"network": "open"})
    arm = open_arm(make_sandbox("docker"), environment=environment)
    assert arm.facts.limits.network == "open"
    assert b"eth0" in shell(arm, "ls /sys/class/net").stdout


def test_an_agent_that_ends_its_own_container_was_killed(
    make_sandbox: MakeSandbox, open_arm: OpenArm
) -> None:
    arm = open_arm(make_sandbox("docker"))
    turn = shell(arm, "echo done > mark; kill -TERM 1; sleep 30", seconds=60)
    assert (turn.record.timed_out, turn.record.milliseconds < 20_000) == (False, True)
    assert turn.record.exit_status in {None, 137, 143}
    assert "mark" in {entry.path for entry in arm.finished().entries}
    assert shell(arm, "cat mark").stdout == b"done\n", "the next turn starts it again"


def test_a_missing_base_image_names_what_makes_it(sealed: SealedWorkspace) -> None:
    sandbox = DockerSandbox("test", base_image="no-such/base:none")
    for act in (lambda: sandbox.preflight(PLAIN_ENVIRONMENT), lambda: sandbox.load(sealed)):
        with pytest.raises(OutsideError) as caught:
            act()
        assert ".ci/docker-up" in caught.value.next_step
        assert "no-such/base" in caught.value.found


def test_a_missing_engine_names_what_starts_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    with pytest.raises(OutsideError) as caught:
        DockerSandbox("test").preflight(PLAIN_ENVIRONMENT)
    assert ".ci/docker-up" in caught.value.next_step


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"milli_cpus": 256_000}, "environment.cpus"),
        ({"memory_mb": 1_048_576}, "environment.memory_mb"),
    ],
)
def test_more_than_the_machine_has_is_refused_before_the_start(
    change: dict[str, int], field: str
) -> None:
    with pytest.raises(OutsideError) as caught:
        DockerSandbox("test").preflight(PLAIN_ENVIRONMENT.model_copy(update=change))
    assert caught.value.field == field


RUNNER = """
    import os, sys
    from pathlib import Path
    sys.path.insert(0, {tests!r})
    from sandbox_arms import PLAIN_ENVIRONMENT, seal_folder
    from benchlib.sandbox import DockerSandbox, LocalSandbox

    if sys.argv[1] == "docker":
        sandbox = DockerSandbox(sys.argv[2])
    else:
        sandbox = LocalSandbox(
            sys.argv[2], scratch_root=None, auto_loaded=lambda _: (), isolation=sys.argv[1]
        )
    arm = sandbox.open_arm(
        seal_folder(Path(sys.argv[3])), PLAIN_ENVIRONMENT, agent_files={{}}, door=None
    )
    print("opened", flush=True)
    arm.run(("sh", "-c", sys.argv[4]), environment={{}}, timeout_seconds=600,
            output_limit_bytes=9)
"""


@pytest.mark.parametrize("kind", ["docker", "namespace", "none"])
def test_what_a_killed_runner_left_is_found_by_its_label_and_no_other(
    kind: str, make_sandbox: MakeSandbox, sealed: SealedWorkspace, open_arm: OpenArm
) -> None:
    label, sleep = f"killed-{os.getpid()}", f"sleep 76{os.getpid()}"
    other = make_sandbox(kind, label=f"other-{os.getpid()}")
    theirs = open_arm(other)
    tests = str(Path(__file__).resolve().parent.parent)
    runner = subprocess.Popen(
        [
            sys.executable,
            "-c",
            textwrap.dedent(RUNNER).format(tests=tests),
            kind,
            label,
            str(sealed.root),
            f"{sleep}1 & {sleep}2",
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    with runner:
        assert runner.stdout is not None
        assert runner.stdout.readline() == "opened\n"
        _wait_for(f"{sleep}2")
        runner.send_signal(signal.SIGKILL)
    sandbox = make_sandbox(kind, label=label)
    assert len(sandbox.remove_leftovers()) >= 1
    assert sandbox.remove_leftovers() == ()
    _wait_for_end(sleep)
    assert shell(theirs, "echo here").stdout == b"here\n"


def _found(words: str) -> bool:
    return subprocess.run(["pgrep", "-f", f"^{words}"], check=False).returncode == 0


def _wait_for(words: str) -> None:
    for _ in range(300):
        if _found(words):
            return
        time.sleep(0.1)
    pytest.fail(f"{words} never began")


def _wait_for_end(words: str) -> None:
    for _ in range(100):
        if not _found(words):
            return
        time.sleep(0.1)
    pytest.fail(f"{words} outlived its runner")
