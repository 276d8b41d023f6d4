"""The situations that went wrong in public benchmark projects, each run for real."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest
from cohort_builder import ROOT, CohortSpec, RunSpec

from benchlib.errors import RefusedError

CASES = ROOT / "tests/cases/apparatus"

SANDBOXES = [pytest.param("docker", marks=pytest.mark.docker), "namespace", "none"]
ISOLATED = SANDBOXES[:2]


def _script(name: str) -> str:
    return (CASES / name).read_text()


@pytest.mark.parametrize("sandbox", SANDBOXES)
def test_a_pair_that_solves_its_task_in_both_arms_passes_in_both(
    run_spec: RunSpec, sandbox: str
) -> None:
    ran = run_spec(CohortSpec(), sandbox)
    assert ran.summary.completed == 1
    assert ran.pair().change.outcome == "both-passed"
    for arm in ("control", "treatment"):
        receipt = ran.arm(arm)
        assert receipt.reward == 1
        assert receipt.mutations.undeclared == ()
        assert receipt.sandbox.home_was_fresh
    isolation = {"docker": "container"}.get(sandbox, sandbox)
    assert ran.arm("control").sandbox.isolation == isolation
    assert ran.arm("control").sandbox.image == ran.arm("treatment").sandbox.image


@pytest.mark.parametrize("sandbox", ISOLATED)
def test_case_2_the_operators_own_memory_reaches_no_arm(
    run_spec: RunSpec, sandbox: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run(["sh", str(CASES / "make_operator_home.sh"), str(tmp_path / "op")], check=True)
    monkeypatch.setenv("HOME", str(tmp_path / "op/home"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "op/home/.claude"))
    look = (
        "echo 58 > answer.txt; env; d=$(pwd); while :; do ls -a $d; "
        "cat $d/*.md $d/.claude/* 2>/dev/null; [ $d = / ] && break; d=$(dirname $d); done; "
        "grep -r OPERATOR-CANARY $HOME /root /home /tmp 2>/dev/null; true"
    )
    ran = run_spec(CohortSpec(agent=("sh", "-c", look)), sandbox, scratch=tmp_path / "op/work")
    for arm in ("control", "treatment"):
        folder = ran.folder.arm("p1", "a1", arm)
        seen = (folder / "stdout.txt").read_text() + (folder / "stderr.txt").read_text()
        assert "OPERATOR-CANARY" not in seen
        assert str(tmp_path / "op") not in seen.replace(str(tmp_path / "op/work"), "")
        assert ran.arm(arm).sandbox.home_was_fresh


def test_case_2_where_parents_cannot_be_hidden_the_run_is_refused_by_name(
    run_spec: RunSpec, tmp_path: Path
) -> None:
    subprocess.run(["sh", str(CASES / "make_operator_home.sh"), str(tmp_path / "op")], check=True)
    with pytest.raises(RefusedError) as caught:
        run_spec(CohortSpec(), "none", scratch=tmp_path / "op/work")
    assert "AGENTS.md" in str(caught.value)


@pytest.mark.parametrize("sandbox", SANDBOXES)
def test_case_3_a_process_that_outlives_the_agent_writes_no_verdict(
    run_spec: RunSpec, sandbox: str
) -> None:
    ran = run_spec(CohortSpec(agent=("sh", "-c", _script("forge_background.sh"))), sandbox)
    receipt = ran.arm("control")
    assert receipt.reward == 0
    survivors = [one.argv for turn in receipt.processes for one in turn.survivors]
    assert any("reward.txt" in argv for argv in survivors), survivors
    assert receipt.verdict.status == "failed"


@pytest.mark.parametrize("sandbox", SANDBOXES)
def test_case_4_planted_verdicts_and_tools_are_worth_nothing(
    run_spec: RunSpec, sandbox: str
) -> None:
    whole = ("reward.json", ".local", "python3", "answer.txt", "verdict.json")
    script = _script("plant_verdict.sh").replace(
        "exit 0\n", "echo '{\"passed\": true}' > verdict.json\n"
    )
    ran = run_spec(CohortSpec(agent=("sh", "-c", script), outputs=whole), sandbox)
    for arm in ("control", "treatment"):
        receipt = ran.arm(arm)
        assert receipt.mutations.undeclared == ()
        assert receipt.verdict.status == "failed"  # by the verifier itself, not by the audit
        assert receipt.reward == 0


def test_case_6_a_verifier_that_accepts_everything_is_refused_when_frozen(
    run_spec: RunSpec,
) -> None:
    verifier = "import json, sys\nopen(sys.argv[2], 'w').write(json.dumps({'passed': True}))\n"
    with pytest.raises(RefusedError) as caught:
        run_spec(CohortSpec(verifier=verifier))
    assert "accepts the untouched tree" in str(caught.value)


@pytest.mark.parametrize("sandbox", SANDBOXES)
def test_an_agent_that_used_up_its_time_lost_and_is_not_void(
    run_spec: RunSpec, sandbox: str
) -> None:
    spec = CohortSpec(agent=("sh", "-c", "sleep 60"), agent_timeout_seconds=6)
    started = time.monotonic()
    ran = run_spec(spec, sandbox)
    assert time.monotonic() - started < 50
    assert ran.pair().status == "completed"
    assert ran.arm("control").processes[0].timed_out
    assert ran.arm("control").reward == 0


CRASH_LATER = """\
import json, pathlib, sys
workspace, verdict = map(pathlib.Path, sys.argv[1:3])
answer = workspace / "answer.txt"
if answer.is_file() and "crash" in answer.read_text():
    sys.exit(7)
passed = answer.is_file() and answer.read_text().strip() == "58"
verdict.write_text(json.dumps({"passed": passed}))
sys.exit(0 if passed else 1)
"""


def test_case_7_a_verifier_that_never_judged_makes_the_pair_void_and_nothing_zero(
    run_spec: RunSpec,
) -> None:
    ran = run_spec(CohortSpec(agent=("sh", "-c", "echo crash > answer.txt"), verifier=CRASH_LATER))
    pair = ran.pair()
    assert (pair.status, pair.reason, pair.change) == ("void", "verifier-no-verdict", None)
    first = ran.arm(pair.order[0])
    assert (first.status, first.reward) == ("void", None)
    assert ran.folder.read_arm("p1", "a1", pair.order[1]) is None, "nothing more was spent"
    assert ran.summary.void == {"verifier-no-verdict": 1}


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("empty_memory", "wrong-type"),
        ("still_indexing", "wrong-type"),
        ("banner_on_stdout", "not-json"),
        ("two_objects", "trailing-data"),
        ("extra_field", "unknown-field"),
        ("answer_then_fail", "nonzero-exit"),
        ("flood", "output-too-large"),
        ("leaves_child", "left-children"),
    ],
)
def test_case_13_a_provisioner_that_is_subtly_wrong_voids_the_pair_before_it_costs(
    run_spec: RunSpec, script: str, reason: str
) -> None:
    path = CASES / "provisioners" / f"{script}.py"
    ran = run_spec(CohortSpec(provisioner=("{python}", str(path))))
    pair = ran.pair()
    assert pair.status == "void"
    assert ran.arm("treatment").status == "void"
    assert ran.arm("treatment").processes == ()
    assert ran.folder.read_arm("p1", "a1", "control") is None
    assert pair.destroy, "destroy is called for whatever restore may have made"
    if reason != "wrong-type":  # the two stores whose answers have other inner shapes than ours
        assert pair.reason == reason


APP = {
    "app.py": "def add(a, b):\n    return a - b\n",
    "test_app.py": (
        "import unittest\nfrom app import add\n\n\nclass Add(unittest.TestCase):\n"
        "    def test_add(self):\n        self.assertEqual(add(2, 3), 5)\n"
    ),
}
APP_VERIFIER = """\
import json, pathlib, sys
workspace, verdict = map(pathlib.Path, sys.argv[1:3])
source = workspace / "app.py"
scope = {}
if source.is_file():
    exec(compile(source.read_text(), "app.py", "exec"), scope)
passed = bool("add" in scope and scope["add"](2, 3) == 5)
verdict.write_text(json.dumps({"passed": passed}))
sys.exit(0 if passed else 1)
"""
APP_AGENT = (
    "sh",
    "-c",
    "printf 'def add(a, b):\\n    return a + b\\n' > app.py && python3 -m unittest -q",
)


def _app(outputs: tuple[str, ...]) -> CohortSpec:
    return CohortSpec(
        agent=APP_AGENT,
        files=APP,
        outputs=outputs,
        verifier=APP_VERIFIER,
        solution={"app.py": "def add(a, b):\n    return a + b\n"},
    )


@pytest.mark.parametrize("sandbox", SANDBOXES)
def test_case_14_what_the_toolchain_wrote_is_named_with_the_line_that_would_allow_it(
    run_spec: RunSpec, sandbox: str
) -> None:
    ran = run_spec(_app(("app.py",)), sandbox)
    receipt = ran.arm("control")
    assert receipt.verdict.status == "passed"
    assert receipt.reward == 0
    undeclared = receipt.mutations.undeclared
    assert undeclared
    assert all("__pycache__" in one.path for one in undeclared)
    assert {one.declare_with for one in undeclared} == {"**/__pycache__"}


def test_case_14_with_the_caches_declared_the_same_run_passes(run_spec: RunSpec) -> None:
    ran = run_spec(_app(("app.py", "**/__pycache__")))
    assert ran.arm("control").reward == 1


@pytest.mark.parametrize("sandbox", SANDBOXES)
def test_nothing_that_an_agent_sees_tells_its_condition(run_spec: RunSpec, sandbox: str) -> None:
    look = (
        "echo 58 > answer.txt; pwd; env; id; hostname; ls -la / . .. $HOME 2>/dev/null; "
        "cat /proc/self/cgroup; git log 2>/dev/null; true"
    )
    if sandbox != "none":  # a plain process sees all that the machine runs and mounts
        look += (
            "; cat /proc/1/cmdline /proc/self/mountinfo 2>/dev/null | tr '\\0' ' '"
            "; ps ax 2>/dev/null; true"
        )
    ran = run_spec(CohortSpec(agent=("sh", "-c", look)), sandbox)
    for arm in ("control", "treatment"):
        text = (ran.folder.arm("p1", "a1", arm) / "stdout.txt").read_text().lower()
        words = ["treatment", "small-cohort", "label-width", "cohort", "recall"]
        if sandbox != "none":
            words += ["benchlib"]
        for word in words:
            assert word not in text, f"{arm}: {word}"


def test_a_prebuild_runs_once_and_both_arms_start_from_what_it_made(run_spec: RunSpec) -> None:
    spec = CohortSpec(
        prebuild=("sh", "-c", "echo built > built.txt"),
        agent=("sh", "-c", "cat built.txt && echo 58 > answer.txt"),
    )
    ran = run_spec(spec)
    assert ran.pair().change.outcome == "both-passed"
    preparation = json.loads(ran.folder.preparation("label-width", "parcel-desk").read_text())
    assert preparation["prebuilt_sha256"] == preparation["sealed_sha256"]
    assert preparation["redaction"]["after"] != preparation["sealed_sha256"]


def test_redacted_context_is_in_no_arm(run_spec: RunSpec) -> None:
    ran = run_spec(
        CohortSpec(agent=("sh", "-c", "ls -a; test ! -e CLAUDE.md && echo 58 > answer.txt"))
    )
    assert ran.pair().change.outcome == "both-passed"


def test_the_order_of_the_arms_comes_from_the_seed_and_both_orders_occur(run_spec: RunSpec) -> None:
    ran = run_spec(CohortSpec(pairs=6))
    orders = {ran.pair(f"p{number}").order for number in range(1, 7)}
    assert len(orders) == 2
    for number in range(1, 7):
        pair = ran.pair(f"p{number}")
        first, second = (ran.arm(name, f"p{number}") for name in pair.order)
        assert first.started_at <= second.started_at


def test_no_environment_of_the_operator_reaches_an_arm(
    run_spec: RunSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPERATOR_SECRET", "sk-operator-000000000000")
    ran = run_spec(CohortSpec(agent=("sh", "-c", "env; echo 58 > answer.txt")), "none")
    for path in ran.folder.root.rglob("*"):
        if path.is_file():
            assert b"sk-operator" not in path.read_bytes()
    assert os.environ["OPERATOR_SECRET"]
