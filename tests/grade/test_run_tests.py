"""The helper that runs hidden tests, against code that does not want to be judged."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchlib.contracts.attempt import VerdictFile
from benchlib.contracts.reading import read_file
from tests.grade.conftest import CASES, PYTHON, write


@dataclass(frozen=True)
class Said:
    status: int
    passed: bool | None
    reason: str
    checks: dict[str, bool]
    printed: str


def judge(verifier: Path, workspace: Path, *options: str) -> Said:
    verdict = verifier.parent / "verdict.json"
    verdict.unlink(missing_ok=True)
    done = subprocess.run(
        [PYTHON, "-I", "run_tests.py", *options, "tests", str(workspace), str(verdict)],
        cwd=verifier,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(workspace), "PYTEST_ADDOPTS": "--co"},
        capture_output=True,
        text=True,
        check=False,
    )
    said = json.loads(verdict.read_text()) if verdict.exists() else {}
    checks = {check["name"]: check["passed"] for check in said.get("checks", ())}
    return Said(
        done.returncode,
        said.get("passed"),
        said.get("reason", ""),
        checks,
        done.stdout + done.stderr,
    )


WRONG = "def add(a, b):\n    return a - b\n"
RIGHT = "def add(a, b):\n    return a + b\n"
UNIT = """
import unittest
from app import add
class AddTest(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add(2, 3), 5)
    def test_zero(self):
        for one in (0, 1):
            with self.subTest(one=one):
                self.assertEqual(add(one, 0), one)
"""


@pytest.fixture
def unit(verifier: Path) -> Path:
    return write(verifier, {"tests/test_app.py": UNIT})


WITH = {"pytest": ("--with", "pytest"), "unittest": ()}


@pytest.fixture(params=list(WITH))
def runner(request: pytest.FixtureRequest) -> tuple[str, ...]:
    return WITH[request.param]


def test_right_code_passes_and_wrong_code_fails(
    unit: Path, tmp_path: Path, runner: tuple[str, ...]
) -> None:
    right = judge(unit, write(tmp_path / "right", {"app.py": RIGHT}), *runner)
    assert (right.status, right.passed, list(right.checks.values())) == (0, True, [True, True])
    wrong = judge(unit, write(tmp_path / "wrong", {"app.py": WRONG}), *runner)
    assert (wrong.status, wrong.passed) == (1, False)
    assert "test_add" in wrong.reason


@pytest.mark.parametrize("name", ["conftest_forged.py", "conftest_forged_exit.py"])
def test_forged_output_and_a_forged_exit_status_are_no_pass(
    verifier: Path, tmp_path: Path, forged: Callable[[str], str], name: str
) -> None:
    files = {
        "app.py": forged("app.py"),
        "test_app.py": forged("test_app.py"),
        "conftest.py": forged(name),
        "pytest.ini": "[pytest]\naddopts = -p conftest\n",
        "tests/conftest.py": forged(name),
    }
    said = judge(verifier, write(tmp_path / "w", files), "--with", "pytest")
    assert (said.status, said.passed) == (1, False)
    assert "test_add" in said.reason  # the agent's hooks were never loaded: the test really ran


FORCED = {
    "at import": f"{WRONG}import os\nprint('1 passed')\nos._exit(0)\n",
    "in the call": "import os\ndef add(a, b):\n    print('OK')\n    os._exit(0)\n",
    "by a signal": "import os\ndef add(a, b):\n    os.kill(os.getpid(), 9)\n",
    "by a system exit": "import sys\nsys.exit(0)\n",
    "from a thread": "import os, threading\n"
    "def add(a, b):\n    threading.Thread(target=os._exit, args=(0,)).start()\n"
    "    import time; time.sleep(5)\n",
}


@pytest.mark.parametrize("name", FORCED)
def test_an_exit_that_was_forced_before_the_results_is_not_trusted(
    unit: Path, tmp_path: Path, runner: tuple[str, ...], name: str
) -> None:
    said = judge(unit, write(tmp_path / "w", {"app.py": FORCED[name]}), *runner)
    assert (said.status, said.passed) == (1, False)
    assert "not trusted" in said.reason or "system exit" in name


@pytest.mark.parametrize("text", ["'\\ud800'", "chr(0) * 9000", "'\\x1b[2J\\u202e'"])
def test_an_error_whose_words_are_hostile_is_a_failure_and_no_lack_of_a_verdict(
    unit: Path, tmp_path: Path, runner: tuple[str, ...], text: str
) -> None:
    code = f"def add(a, b):\n    raise ValueError({text})\n"
    said = judge(unit, write(tmp_path / "w", {"app.py": code}), *runner)
    assert (said.status, said.passed) == (1, False)
    assert read_file(VerdictFile, unit.parent / "verdict.json").passed is False


def test_an_exit_handler_of_the_code_changes_nothing(unit: Path, tmp_path: Path) -> None:
    code = f"{WRONG}import atexit, os\natexit.register(os._exit, 0)\n"
    said = judge(unit, write(tmp_path / "w", {"app.py": code}))
    assert (said.status, said.passed) == (1, False)
    assert "2 tests did not pass" in said.reason


SHADOWS = {
    "unittest": "unittest.py",
    "a package": "unittest/__init__.py",
    "json": "json.py",
    "pytest": "pytest.py",
    "_pytest": "_pytest/__init__.py",
    "sitecustomize": "sitecustomize.py",
    "usercustomize": "usercustomize.py",
    "the hidden test's own name": "test_app.py",
    "the helper": "run_tests.py",
}


@pytest.mark.parametrize("name", SHADOWS)
def test_a_file_of_the_workspace_shadows_no_tool(
    unit: Path, tmp_path: Path, runner: tuple[str, ...], name: str
) -> None:
    evil = "import os\nos._exit(0)\n"
    files = {"app.py": RIGHT, SHADOWS[name]: evil}
    assert judge(unit, write(tmp_path / "w", files), *runner).passed is True
    files["app.py"] = WRONG
    assert judge(unit, write(tmp_path / "v", files), *runner).passed is False


def test_planted_verdicts_and_planted_tools_change_nothing(
    verifier: Path, tmp_path: Path, forged: Callable[[str], str]
) -> None:
    workspace = write(tmp_path / "w", {"app.py": forged("app.py")})
    subprocess.run(["sh", str(CASES / "plant_verdict.sh")], cwd=workspace, check=True)
    assert (workspace / "reward.json").exists()
    said = judge(verifier, workspace, "--with", "pytest")
    assert (said.status, said.passed) == (1, False)


def test_code_that_hangs_fails_before_the_verifier_is_out_of_time(
    unit: Path, tmp_path: Path
) -> None:
    workspace = write(tmp_path / "w", {"app.py": "import time\ntime.sleep(60)\n"})
    said = judge(unit, workspace, "--seconds", "1")
    assert (said.status, said.reason) == (1, "the tests did not end within 1 s")


def test_a_process_that_the_code_left_behind_is_gone(unit: Path, tmp_path: Path) -> None:
    canary = tmp_path / "late"
    code = (
        f"{RIGHT}import subprocess\n"
        f"subprocess.Popen(['sh', '-c', 'sleep 1; echo late > {canary}'])\n"
    )
    assert judge(unit, write(tmp_path / "w", {"app.py": code})).passed is True
    subprocess.run(["sleep", "1.5"], check=True)
    assert not canary.exists()


@pytest.mark.parametrize(
    ("body", "passed"),
    [
        ("raise unittest.SkipTest('later')", False),
        ("unittest.TestCase.skipTest(unittest.TestCase(), 'later')", False),
        ("return 5", True),
    ],
)
def test_a_skipped_test_has_not_passed(
    unit: Path, tmp_path: Path, runner: tuple[str, ...], body: str, passed: bool
) -> None:
    code = f"import unittest\ndef add(a, b):\n    if (a, b) != (2, 3): return a + b\n    {body}\n"
    assert judge(unit, write(tmp_path / "w", {"app.py": code}), *runner).passed is passed


def test_a_hidden_test_that_did_not_report_is_not_a_pass(unit: Path, tmp_path: Path) -> None:
    code = (
        f"{WRONG}import unittest\n"
        "unittest.TestLoader.getTestCaseNames = lambda self, case: ['test_zero']\n"
    )
    said = judge(unit, write(tmp_path / "w", {"app.py": code}))
    assert (said.status, said.reason) == (
        1,
        "not trusted: hidden tests that did not report: test_add",
    )


def test_a_plugin_that_comes_from_the_workspace_is_not_trusted(unit: Path, tmp_path: Path) -> None:
    write(unit, {"tests/conftest.py": "pytest_plugins = ['helper']\n"})
    workspace = write(tmp_path / "w", {"app.py": RIGHT, "helper.py": ""})
    said = judge(unit, workspace, "--with", "pytest")
    assert (said.status, said.reason) == (
        1,
        "not trusted: pytest plugins from the workspace: helper",
    )


def test_byte_code_in_the_workspace_is_neither_read_nor_written(unit: Path, tmp_path: Path) -> None:
    workspace = write(tmp_path / "w", {"app.py": RIGHT})
    subprocess.run(
        [
            PYTHON,
            "-m",
            "compileall",
            "-q",
            "--invalidation-mode=unchecked-hash",
            "app.py",
        ],
        cwd=workspace,
        check=True,
    )
    write(workspace, {"app.py": WRONG})  # the byte code still says otherwise
    before = sorted(workspace.rglob("*"))
    assert judge(unit, workspace).passed is False
    assert sorted(workspace.rglob("*")) == before


def test_an_empty_workspace_fails_without_a_crash(
    unit: Path, tmp_path: Path, runner: tuple[str, ...]
) -> None:
    said = judge(unit, write(tmp_path / "w", {}), *runner)
    assert (said.status, said.passed) == (1, False)


def test_a_source_folder_below_the_workspace_can_be_named(unit: Path, tmp_path: Path) -> None:
    workspace = write(tmp_path / "w", {"src/app.py": RIGHT})
    assert judge(unit, workspace).passed is False
    assert judge(unit, workspace, "--path", "src").passed is True


def test_hidden_tests_learn_where_the_workspace_is(verifier: Path, tmp_path: Path) -> None:
    hidden = (
        "import os, pathlib, unittest\nclass T(unittest.TestCase):\n    def test_answer(self):\n"
        "        text = pathlib.Path(os.environ['WORKSPACE'], 'answer.txt').read_text()\n"
        "        self.assertEqual(text, '48')\n"
    )
    write(verifier, {"tests/test_app.py": hidden})
    assert judge(verifier, write(tmp_path / "w", {"answer.txt": "48"})).passed is True
    assert judge(verifier, write(tmp_path / "v", {"answer.txt": "49"})).passed is False


def test_a_verifier_without_tests_judges_nothing(verifier: Path, tmp_path: Path) -> None:
    (verifier / "tests" / "test_app.py").unlink()
    said = judge(verifier, write(tmp_path / "w", {"app.py": RIGHT}))
    assert (said.status, said.passed) == (2, None)
