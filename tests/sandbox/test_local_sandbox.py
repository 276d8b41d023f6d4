"""What is the local sandbox's alone: refusals, honest facts, users without privileges."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from sandbox_arms import (
    CASES,
    NOTHING_HOLDS,
    PLAIN_ENVIRONMENT,
    OpenArm,
    python,
    shell,
)

from benchlib.contracts.boundaries import Sandbox, SealedWorkspace
from benchlib.errors import OutsideError, RefusedError
from benchlib.sandbox import LocalSandbox

MakeSandbox = Callable[..., Sandbox]
NAMED = ("AGENTS.md", "CLAUDE.md")


def loads(folder: Path) -> tuple[str, ...]:
    return tuple(name for name in NAMED if (folder / name).exists())


def test_case_2_where_parents_cannot_be_hidden_it_refuses_and_names_each_file(
    make_sandbox: MakeSandbox, tmp_path: Path
) -> None:
    subprocess.run(["sh", str(CASES / "make_operator_home.sh"), str(tmp_path)], check=True)
    sandbox = make_sandbox("none", scratch=tmp_path / "work" / "deep", auto_loaded=loads)
    with pytest.raises(RefusedError) as caught:
        sandbox.preflight(PLAIN_ENVIRONMENT)
    places = [part["place"] for part in caught.value.parts()]
    assert places == [str(tmp_path / "work" / name) for name in NAMED]
    assert "AGENTS.md" in caught.value.found


def test_a_file_that_appears_above_a_plain_process_after_preflight_is_refused_too(
    make_sandbox: MakeSandbox, sealed: SealedWorkspace, tmp_path: Path
) -> None:
    sandbox = make_sandbox("none", scratch=tmp_path / "work", auto_loaded=loads)
    sandbox.preflight(PLAIN_ENVIRONMENT)
    (tmp_path / "AGENTS.md").write_text("late")
    with pytest.raises(RefusedError):
        sandbox.open_arm(sealed, PLAIN_ENVIRONMENT, agent_files={}, door=None)


def test_parents_that_are_hidden_may_hold_anything(
    make_sandbox: MakeSandbox, open_arm: OpenArm, tmp_path: Path
) -> None:
    (tmp_path / "AGENTS.md").write_text("OPERATOR")
    sandbox = make_sandbox("namespace", scratch=tmp_path / "work", auto_loaded=loads)
    sandbox.preflight(PLAIN_ENVIRONMENT)
    arm = open_arm(sandbox)
    assert shell(arm, "ls /*.md; ls /home /tmp").stdout.split() == [b"/home:", b"agent", b"/tmp:"]
    assert arm.facts.parents_hidden


def test_a_plain_process_claims_no_isolation_and_no_limit(
    make_sandbox: MakeSandbox, open_arm: OpenArm, sealed: SealedWorkspace
) -> None:
    facts = open_arm(make_sandbox("none")).facts
    assert (facts.isolation, facts.parents_hidden) == ("none", False)
    assert facts.limits == NOTHING_HOLDS
    assert facts.user == f"{os.geteuid()}:{os.getegid()}"
    assert facts.image == f"tree:{sealed.sha256}"


def test_a_namespace_claims_what_holds_and_no_more(
    make_sandbox: MakeSandbox, open_arm: OpenArm
) -> None:
    facts = open_arm(make_sandbox("namespace")).facts
    assert (facts.isolation, facts.sandbox) == ("namespace", "local")
    assert (facts.limits.milli_cpus, facts.limits.memory_bytes) == (None, None)
    expected = None if os.geteuid() == 0 else PLAIN_ENVIRONMENT.max_processes
    assert facts.limits.max_processes == expected
    assert facts.engine.startswith("bubblewrap ")
    assert ", python 3." in facts.engine


def test_without_a_wish_a_namespace_is_taken_where_one_can_be_had(
    open_arm: OpenArm,
) -> None:
    sandbox = LocalSandbox("test", scratch_root=None, auto_loaded=lambda _: ())
    assert open_arm(sandbox).facts.isolation == "namespace"


def test_without_bubblewrap_a_plain_process_is_used_and_a_namespace_is_refused(
    open_arm: OpenArm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "bwrap").write_text("#!/bin/sh\necho 'no namespaces here' >&2; exit 1\n")
    (tmp_path / "bin" / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    willing = LocalSandbox("test", scratch_root=None, auto_loaded=lambda _: ())
    assert open_arm(willing).facts.isolation == "none"
    insisting = LocalSandbox(
        "test", scratch_root=None, auto_loaded=lambda _: (), isolation="namespace"
    )
    with pytest.raises(OutsideError) as caught:
        insisting.preflight(PLAIN_ENVIRONMENT)
    assert "bubblewrap" in caught.value.next_step


def test_one_process_of_a_namespace_gets_no_more_memory_than_the_environment_grants(
    make_sandbox: MakeSandbox, open_arm: OpenArm
) -> None:
    environment = PLAIN_ENVIRONMENT.model_copy(update={"memory_mb": 64})
    arm = open_arm(make_sandbox("namespace"), environment=environment)
    turn = python(arm, "b = bytearray(200 * 2**20); print('had it')")
    assert (turn.record.exit_status, turn.stdout) == (1, b"")
    assert b"MemoryError" in turn.stderr


@pytest.mark.parametrize("kind", ["namespace", "none"])
def test_the_arms_python_is_a_recent_one_without_the_operators_packages(
    kind: str, make_sandbox: MakeSandbox, open_arm: OpenArm
) -> None:
    script = (
        "import importlib.util, json, sys, ssl, sqlite3; print(json.dumps([sys.version_info[:2], "
        "[n for n in ('pytest', 'pydantic', 'docker', 'pip') if importlib.util.find_spec(n)]]))"
    )
    version, packages = json.loads(python(open_arm(make_sandbox(kind)), script).stdout)
    assert tuple(version) >= (3, 11)
    assert packages == []


def test_a_namespace_shows_nothing_of_the_machines_own_settings(
    make_sandbox: MakeSandbox, open_arm: OpenArm
) -> None:
    arm = open_arm(make_sandbox("namespace"))
    turn = shell(
        arm, "cat /etc/passwd; ls -A /etc /usr/local /root /var; ls /proc | grep -c '^[0-9]'"
    )
    shown = turn.stdout.decode()
    assert shown.startswith("agent:x:1000:1000::/home/agent:/bin/sh\n/etc:\n")
    assert "shadow" not in shown
    assert int(shown.split()[-1]) < 10


def test_two_arms_do_not_see_each_others_writes(
    make_sandbox: MakeSandbox, open_arm: OpenArm, sealed: SealedWorkspace
) -> None:
    sandbox = make_sandbox("namespace")
    first, second = open_arm(sandbox), open_arm(sandbox)
    shell(first, "echo changed >> README.md; echo x > ~/note")
    assert shell(second, "cat README.md; ls ~").stdout == b"# A project\n"
    assert (sealed.root / "README.md").read_bytes() == b"# A project\n"


# Run as somebody without privileges: what it prints is what it found out.
NOBODY = """
    import json, os, sys
    from pathlib import Path
    from sandbox_arms import PLAIN_ENVIRONMENT, seal_folder
    from benchlib.sandbox import LocalSandbox

    root, kind = Path(sys.argv[1]), sys.argv[2]
    sandbox = LocalSandbox(
        "nobody", scratch_root=root / "s", auto_loaded=lambda _: (), isolation=kind
    )
    arm = sandbox.open_arm(
        seal_folder(root / "t"), PLAIN_ENVIRONMENT.model_copy(update={"max_processes": 12}),
        agent_files={}, door=None,
    )
    script = "mkdir shut; echo x > shut/in; chmod 0 shut README.md; chmod 200 run.sh; id -u"
    first = arm.run(("sh", "-c", script), environment={}, timeout_seconds=30,
                    output_limit_bytes=999)
    found = {entry.path: [entry.mode, entry.permissions] for entry in arm.finished().entries}
    second = arm.run(("python3", "-c", sys.argv[3]), environment={}, timeout_seconds=30,
                     output_limit_bytes=999)
    arm.copy_workspace(root / "copy")
    (root / "v").mkdir()
    (root / "v" / "verify.py").write_text("import os, sys; print(sorted(os.listdir(sys.argv[1])))")
    judged = sandbox.judge(root / "copy", root / "v", runtime=("python3", "verify.py"),
                           timeout_seconds=30)
    limits = arm.facts.limits.max_processes
    arm.close()
    print(json.dumps({
        "uid": first.stdout.decode(), "stderr": first.stderr.decode(), "found": found,
        "forked": int(second.stdout), "survivors": len(second.record.survivors),
        "claimed": limits, "judged": judged.stdout.decode(), "left": sandbox.remove_leftovers(),
    }))
"""


FORKS = """
import os, time
n = 0
try:
    while n < 40:
        if os.fork() == 0: time.sleep(20); os._exit(0)
        n += 1
except OSError: pass
print(n)
"""


@pytest.mark.parametrize("kind", ["namespace", "none"])
def test_it_works_for_a_user_without_privileges_and_reads_what_an_agent_shut(
    kind: str, tmp_path: Path, sealed: SealedWorkspace
) -> None:
    found = _as_nobody(kind, tmp_path, sealed)
    assert found["stderr"] == ""
    assert found["found"]["shut/in"] == ["100644", 0o644]
    assert found["found"]["README.md"] == ["100644", 0]
    assert found["found"]["run.sh"] == ["100644", 0o200]
    assert "'shut'" in found["judged"]
    assert found["left"] == []
    if kind == "namespace":
        assert found["uid"] == "1000\n"
        assert found["claimed"] == 12
        assert found["forked"] == found["survivors"] < 12, "the limit that is claimed holds"
    else:
        assert found["claimed"] is None
        assert found["survivors"] == 40, "the limit that is not claimed does not hold"


def _as_nobody(kind: str, tmp_path: Path, sealed: SealedWorkspace) -> dict[str, object]:
    """Run the scenario as another user, with an interpreter that this user may start."""
    subprocess.run(["cp", "-r", str(sealed.root), str(tmp_path / "t")], check=True)
    owner, program, place = os.geteuid(), sys.executable, tmp_path
    prefix: list[str] = []
    if owner == 0:
        owner = 65_534
        place = Path(subprocess.check_output(["mktemp", "-d"], text=True).strip())
        subprocess.run(["mv", str(tmp_path / "t"), str(place)], check=True)
        subprocess.run(["chown", "-R", str(owner), str(place)], check=True)
        prefix = ["setpriv", f"--reuid={owner}", f"--regid={owner}", "--clear-groups"]
        prefix += ["sh", "-c", 'exec "$@"', "sh"]  # the first exec still has root's abilities
        program = _shared_python(prefix)
    tests = Path(__file__).resolve().parent.parent
    try:
        ran = subprocess.run(
            [*prefix, program, "-c", textwrap.dedent(NOBODY), str(place), kind, FORKS],
            env={
                "PATH": os.environ["PATH"],
                "PYTHONPATH": os.pathsep.join([str(tests), str(tests.parent), *sys.path]),
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            cwd=place,
            check=False,
            capture_output=True,
            text=True,
        )
    finally:
        if place != tmp_path:
            subprocess.run(["rm", "-rf", str(place)], check=True)
    assert ran.returncode == 0, ran.stderr
    found: dict[str, object] = json.loads(ran.stdout)
    return found


def _shared_python(prefix: list[str]) -> str:
    """The interpreter of the tests may lie in a home; the system's is of the same release."""
    name = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    for program in (sys.executable, f"/usr/bin/{name}", "/usr/bin/python3"):
        tried = subprocess.run(
            [*prefix, program, "-c", "import sys; print(sys.version_info[:2])"],
            check=False,
            capture_output=True,
            text=True,
        )
        if tried.stdout.strip() == str(sys.version_info[:2]):
            return program
    pytest.fail(f"no {name} that another user may start")
