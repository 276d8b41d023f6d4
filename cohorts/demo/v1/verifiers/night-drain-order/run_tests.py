"""Run hidden tests against a finished workspace, and believe nothing that is printed.

    python3 -I run_tests.py [--with pytest] [--path src] [--seconds 40] TESTS WORKSPACE VERDICT

TESTS is a folder beside this file, with files `test*.py`. The tests find the workspace
on the import path, and its place in the environment name ``WORKSPACE``. One object is
written to VERDICT; the exit status agrees with it: 0 passed, 1 failed. With any other
status nothing was judged: wrong arguments (2), or pytest is asked for and not there (3).

This is one file of the standard library, made to be copied into a verifier's folder.

What stops what:

- forged output: the result is a file outside the workspace, with a random number that
  the agent never saw; what the tests print is shown to people and never read;
- `conftest.py`, pytest's configuration and plugins, `sitecustomize`, `PYTHON*` names:
  the tests are copied out of the workspace and run there in Python's isolated mode, with
  an empty configuration, plugin discovery off, and a check that no plugin was loaded
  from the workspace;
- files that shadow the standard library or pytest: both come before the workspace;
- an exit forced before the results were written, from whatever import or hook: the
  results are missing, and a run without results is failed as not trusted;
- tests that quietly did not run: each `def test…` of the hidden files must have
  reported, and a skipped test has not passed;
- byte code that was left behind: it is not read, nor is any written;
- code that hangs: the tests' time ends before the verifier's own.

What is not stopped: the code under test runs in the process of the tests. Code that is
written to attack it can find the random number in memory, replace `assertEqual`, or
write into the files of the process that judges it. Where that is a danger, a verifier
must drive the workspace's code as a program of its own and compare what comes out.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
import unittest
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.abc import PathEntryFinder
from importlib.machinery import (
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    SourceFileLoader,
)
from importlib.util import find_spec
from pathlib import Path
from types import CodeType

PASSED, FAILED, MISUSED, NO_PYTEST = 0, 1, 2, 3

_ITSELF = (str(Path(__file__).resolve()), "--inside")
_DETAIL_CHARACTERS = 1500
_NAME_CHARACTERS = 300
_SHOWN_BYTES = 3000
_MOST_CHECKS = 1000  # that a verdict file may hold


@dataclass(frozen=True)
class Outcome:
    """How one hidden test ended."""

    name: str
    passed: bool
    detail: str = ""


@dataclass(frozen=True)
class Order:
    """What the tests' process is told, over its standard input."""

    tests: str
    workspace: str
    paths: list[str]
    runner: str
    results: str
    nonce: str


def main(argv: list[str]) -> int:
    """Judge one workspace.

    Args:
        argv: The arguments after the program's name.

    Returns:
        The exit status.
    """
    arguments = _arguments(argv)
    tests = Path(__file__).resolve().parent / arguments.tests
    expected = expected_tests(tests)
    if not expected:
        sys.stderr.write(f"{tests}: no test to run\n")
        return MISUSED
    if arguments.runner == "pytest" and find_spec("pytest") is None:
        sys.stderr.write("pytest is not installed for this Python\n")
        return NO_PYTEST
    with tempfile.TemporaryDirectory(prefix="tests-") as scratch:
        reason, outcomes = _judge(arguments, tests, Path(scratch))
    reason = reason or _doubt(expected, outcomes)
    passed = not reason and all(outcome.passed for outcome in outcomes)
    if not passed and not reason:
        names = dict.fromkeys(one.name for one in outcomes if not one.passed)
        every = {one.name for one in outcomes}
        reason = f"{len(names)} of {len(every)} tests did not pass: {', '.join(names)}"
    verdict = {
        "passed": passed,
        "reason": reason[:_DETAIL_CHARACTERS],
        "checks": [asdict(outcome) for outcome in outcomes[:_MOST_CHECKS]],
    }
    Path(arguments.verdict).write_text(json.dumps(verdict), encoding="utf-8")
    return PASSED if passed else FAILED


def _arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="run_tests.py")
    parser.add_argument("--with", dest="runner", choices=("unittest", "pytest"), default="unittest")
    parser.add_argument("--path", action="append", default=[], help="below the workspace")
    parser.add_argument("--seconds", type=int, default=40)
    parser.add_argument("tests", help="a folder beside this file")
    parser.add_argument("workspace")
    parser.add_argument("verdict")
    return parser.parse_args(argv)


def expected_tests(tests: Path) -> set[str]:
    """Return the names of the test functions that stand in the hidden files.

    Args:
        tests: The folder of the hidden tests.
    """
    return {
        node.name
        for file in sorted(tests.rglob("test*.py"))
        for node in ast.walk(ast.parse(file.read_bytes()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test")
    }


def _doubt(expected: set[str], outcomes: list[Outcome]) -> str:
    """Say which hidden tests kept silent."""
    reported = {outcome.name.split("[", 1)[0].rsplit("::", 1)[-1] for outcome in outcomes}
    silent = sorted(expected - reported)
    # A file that can't be imported reports itself, and its tests can't.
    if silent and all(outcome.passed for outcome in outcomes):
        return f"not trusted: hidden tests that did not report: {', '.join(silent)}"
    return ""


def _judge(arguments: argparse.Namespace, tests: Path, scratch: Path) -> tuple[str, list[Outcome]]:
    """Run the tests in a process of their own; return a reason for distrust, and the results."""
    copy = scratch / "tests"
    shutil.copytree(tests, copy, ignore=shutil.ignore_patterns("__pycache__"))
    workspace = str(Path(arguments.workspace).resolve())
    order = Order(
        tests=str(copy),
        workspace=workspace,
        paths=[str(Path(workspace, path)) for path in arguments.path or ["."]],
        runner=arguments.runner,
        results=str(scratch / secrets.token_hex(8)),
        nonce=secrets.token_hex(16),
    )
    status = _run(order, copy, scratch, arguments.seconds)
    if status is None:
        return f"the tests did not end within {arguments.seconds} s", []
    return _results(order, status)


def _run(order: Order, folder: Path, scratch: Path, seconds: int) -> int | None:
    """Return the exit status of the tests' process; None when its time was up."""
    home = scratch / "home"
    home.mkdir()
    environment = {
        "PATH": os.defpath,
        "HOME": str(home),
        "TMPDIR": str(home),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "WORKSPACE": order.workspace,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    with (scratch / "printed").open("w+b") as printed:
        process = subprocess.Popen(
            [sys.executable, "-I", "-B", *_ITSELF],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=printed,
            stderr=printed,
            start_new_session=True,
        )
        try:
            process.communicate(json.dumps(asdict(order)).encode(), timeout=seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            printed.seek(0)
            sys.stdout.write(printed.read(_SHOWN_BYTES).decode(errors="replace"))
        return process.returncode


def _results(order: Order, status: int) -> tuple[str, list[Outcome]]:
    """Read the results; what is not exactly as promised is not trusted."""
    try:
        document = json.loads(Path(order.results).read_bytes())
        outcomes = [_outcome(entry) for entry in document["outcomes"]]
        nonce, fault = document["nonce"], document["fault"]
    except FileNotFoundError:
        return f"not trusted: the tests ended with status {status} and left no results", []
    except (ValueError, KeyError, TypeError) as error:
        return f"not trusted: the results can't be read ({type(error).__name__})", []
    promised = PASSED if outcomes and all(outcome.passed for outcome in outcomes) else FAILED
    rules = {
        "not trusted: the results were not written by the tests": nonce != order.nonce,
        f"not trusted: {fault}": bool(fault),
        "no hidden test ran": not outcomes,
        f"not trusted: exit status {status} contradicts the results": status != promised,
    }
    return next((rule for rule, is_broken in rules.items() if is_broken), ""), outcomes


def _outcome(entry: dict[str, object]) -> Outcome:
    """Take an outcome such as a verdict file may hold: an error's text can be anything."""
    texts = (str(entry["name"])[:_NAME_CHARACTERS], str(entry["detail"])[:_DETAIL_CHARACTERS])
    name, detail = (text.encode(errors="replace").decode() for text in texts)
    return Outcome(name, entry["passed"] is True, detail)


def _inside() -> None:
    """Be the tests' process: run them, write the results, and leave without a detour."""
    order = Order(**json.loads(sys.stdin.buffer.read()))
    if order.runner == "pytest":
        outcomes, fault = _with_pytest(order)
    else:
        outcomes, fault = _with_unittest(order), ""
    document = {"nonce": order.nonce, "fault": fault, "outcomes": [asdict(one) for one in outcomes]}
    handle = os.open(order.results, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(document, file)
    passed = bool(outcomes) and all(outcome.passed for outcome in outcomes)
    os._exit(PASSED if passed else FAILED)  # no exit handler of the code under test runs


def _admit_workspace(order: Order) -> None:
    """Put the workspace behind the standard library and before installed packages."""
    installed = ("site-packages", "dist-packages")
    first = next(
        (at for at, path in enumerate(sys.path) if Path(path).name in installed), len(sys.path)
    )
    sys.path[first:first] = order.paths
    finder = FileFinder.path_hook(
        (_FromSource, SOURCE_SUFFIXES), (ExtensionFileLoader, EXTENSION_SUFFIXES)
    )

    def below_workspace(path: str) -> PathEntryFinder:
        if not Path(path).is_relative_to(order.workspace):
            raise ImportError(path)
        return finder(path)

    sys.path_hooks.insert(0, below_workspace)


class _FromSource(SourceFileLoader):
    """Import what the source says; byte code beside it may say something else."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


class _Recorder(unittest.TestResult):
    """Keep every outcome; only a plain pass is one."""

    def __init__(self) -> None:
        super().__init__()
        self.outcomes: list[Outcome] = []

    def _keep(self, test: unittest.TestCase, *, passed: bool, detail: str = "") -> None:
        name = test.id().rsplit(".", 1)[-1]
        self.outcomes.append(Outcome(f"{type(test).__name__}::{name}", passed, detail))

    def addSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802 - unittest's name
        super().addSuccess(test)
        self._keep(test, passed=True)

    def addError(self, test: unittest.TestCase, err: object) -> None:  # noqa: N802
        self._keep(test, passed=False, detail=_in_words(err))

    addFailure = addError  # noqa: N815

    def addSubTest(  # noqa: N802
        self, test: unittest.TestCase, subtest: unittest.TestCase, err: object
    ) -> None:
        if err is not None:
            self._keep(test, passed=False, detail=f"{subtest}: {_in_words(err)}")

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:  # noqa: N802
        self._keep(test, passed=False, detail=f"skipped: {reason}")

    def addExpectedFailure(self, test: unittest.TestCase, err: object) -> None:  # noqa: N802
        self._keep(test, passed=False, detail=f"an expected failure is no pass: {_in_words(err)}")

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802
        self._keep(test, passed=False, detail="an unexpected success is no pass")


def _in_words(error: object) -> str:
    raised = error[1] if isinstance(error, tuple) else None
    if not isinstance(raised, BaseException):
        return ""
    return "".join(traceback.format_exception(raised))[-_DETAIL_CHARACTERS:]


def _with_unittest(order: Order) -> list[Outcome]:
    recorder = _Recorder()
    _admit_workspace(order)
    suite = unittest.TestLoader().discover(
        order.tests, pattern="test*.py", top_level_dir=order.tests
    )
    suite.run(recorder)
    return recorder.outcomes


def _with_pytest(order: Order) -> tuple[list[Outcome], str]:
    import pytest  # noqa: PLC0415 - only where it is asked for, and before the workspace's files

    outcomes: list[Outcome] = []

    class Recorder:
        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            if report.when == "call" or not report.passed:
                detail = "" if report.passed else str(report.longrepr)[-_DETAIL_CHARACTERS:]
                outcomes.append(Outcome(report.nodeid, report.outcome == "passed", detail))

        def pytest_collectreport(self, report: pytest.CollectReport) -> None:
            if not report.passed:
                detail = str(report.longrepr)[-_DETAIL_CHARACTERS:]
                outcomes.append(Outcome(report.nodeid, passed=False, detail=detail))

        def pytest_collection_finish(self, session: pytest.Session) -> None:
            strangers.extend(_plugins_below(order.workspace, session.config.pluginmanager))

    strangers: list[str] = []
    _admit_workspace(order)
    empty = Path(order.tests).parent / "empty.ini"
    empty.write_text("[pytest]\n", encoding="utf-8")
    arguments = [f"--rootdir={order.tests}", f"--confcutdir={order.tests}", "-c", str(empty)]
    arguments += ["-p", "no:cacheprovider", "--import-mode=importlib", "-q", order.tests]
    pytest.main(arguments, plugins=[Recorder()])
    fault = f"pytest plugins from the workspace: {', '.join(strangers)}" if strangers else ""
    return outcomes, fault


def _plugins_below(workspace: str, plugins: object) -> Iterator[str]:
    for name, plugin in plugins.list_name_plugin():  # type: ignore[attr-defined]
        file = getattr(plugin, "__file__", None)
        if file and Path(file).resolve().is_relative_to(workspace):
            yield str(name)


if __name__ == "__main__":
    if sys.argv[1:] == ["--inside"]:
        _inside()
    sys.exit(main(sys.argv[1:]))
