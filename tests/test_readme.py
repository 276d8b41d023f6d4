"""Every command of the README runs; the two set-up commands run literally, in a fresh clone."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BLOCKS = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
COMMANDS = [line for block in BLOCKS for line in block.splitlines() if line.startswith("benchlib ")]
SETUPS = [block for block in BLOCKS if "-m venv" in block]


def _run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )


def test_the_readme_shows_the_two_commands() -> None:
    assert len(SETUPS) == 2


@pytest.mark.slow
@pytest.mark.docker
@pytest.mark.timeout(1200)
def test_each_command_of_the_readme_runs_in_the_order_in_which_it_stands(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    shutil.copytree(ROOT, clone, ignore=shutil.ignore_patterns(".venv", "demo-output", ".git"))
    wanted = [one for one in COMMANDS if not one.startswith(("benchlib lab", "benchlib bench"))]
    for command in wanted:
        placed = command.replace("/tmp/", f"{tmp_path}/")
        done = _run(placed, clone)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_demo_command_works_in_a_fresh_clone(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
    demo = next(block for block in SETUPS if "benchlib demo" in block)
    done = _run(demo, clone)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert (clone / "demo-output/run-1/report.html").is_file()
    assert "byte for byte" in done.stdout


def test_the_help_text_names_every_verb() -> None:
    done = _run("benchlib --help", ROOT)
    assert done.returncode == 0
    verbs = {command.split()[1] for command in COMMANDS} | {"demo", "freeze", "bench"}
    for verb in verbs:
        assert f"  {verb} " in done.stdout
