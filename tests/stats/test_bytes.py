from __future__ import annotations

import ast
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
PROGRAM = HERE / "result_bytes.py"
COMMITTED = HERE / "cases" / "result_bytes.sha256"
OPT_OUT = "BENCHLIB_ONE_PYTHON_IS_ENOUGH"
OTHER_VERSIONS = ("3.11", "3.12", "3.13", "3.14")


def digest(python: str, *, seed: str = "0", locale: str = "C", argument: str = "C") -> str:
    environment = {
        "PATH": os.defpath,
        "PYTHONPATH": os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "tests")]),
        "PYTHONHASHSEED": seed,
        "PYTHONDONTWRITEBYTECODE": "1",
        "LC_ALL": locale,
    }
    # -S leaves out installed packages: the statistics stand on the standard library alone.
    argv = [python, "-S", str(PROGRAM), argument]
    done = subprocess.run(argv, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return hashlib.sha256(done.stdout).hexdigest()


def committed() -> dict[str, str]:
    """Return the digest that each version gave, as committed."""
    rows = [line.split() for line in COMMITTED.read_text(encoding="utf-8").splitlines()]
    return {row[0]: row[1] for row in rows}


def others() -> list[str]:
    """Return the other interpreters of this machine that start."""
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    found = []
    for version in OTHER_VERSIONS:
        names = [shutil.which(f"python{version}")]
        names += [str(p) for p in Path.home().glob(f".pyenv/versions/{version}.*/bin/python3")]
        starting = [name for name in names if name and starts(name)]
        found += starting[:1] if version != here else []
    return found


def starts(python: str) -> bool:
    done = subprocess.run([python, "-S", "-c", ""], capture_output=True, check=False)
    return done.returncode == 0


def test_this_python_gives_the_bytes_that_others_gave() -> None:
    digests = committed()
    assert len(digests) >= 2
    assert set(digests.values()) == {digest(sys.executable)}


def test_another_hash_seed_and_locale_change_no_byte() -> None:
    assert digest(sys.executable, seed="4242", locale="C.UTF-8", argument="C.UTF-8") == digest(
        sys.executable
    )


def test_every_other_python_here_gives_the_same_bytes(pytestconfig: pytest.Config) -> None:
    """With `--everything`, no other Python is a failure unless the opt-out is named.

    Without it, the committed digests of the test above stand for the other versions.
    """
    found = others()
    needs_one = pytestconfig.getoption("--everything") and OPT_OUT not in os.environ
    assert found or not needs_one, (
        f"no second Python 3.11+ starts here; install one, or {OPT_OUT}=1"
    )
    assert {digest(python) for python in found} <= set(committed().values())


MODULES = sorted((REPOSITORY / "benchlib" / "stats").glob("*.py"))
PLATFORM = {
    "exp",
    "log",
    "log2",
    "log10",
    "log1p",
    "expm1",
    "pow",
    "lgamma",
    "gamma",
    "erf",
    "erfc",
}
PLATFORM |= {"sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh"}


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_no_module_asks_the_c_library_for_a_last_digit(module: Path) -> None:
    tree = ast.parse(module.read_text(encoding="utf-8"))
    asked = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "math"
    }
    assert asked & PLATFORM == set()


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_a_module_imports_the_standard_library_and_errors_only(module: Path) -> None:
    tree = ast.parse(module.read_text(encoding="utf-8"))
    names = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    foreign = {
        name
        for name in names
        if name.split(".")[0] not in sys.stdlib_module_names
        and not name.startswith(("benchlib.stats", "benchlib.errors"))
    }
    assert foreign == set()
