"""What every test may ask for: whether Docker and a browser are there, and the repository."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import docker
import pytest
from docker.errors import DockerException
from hypothesis import HealthCheck, settings

# No deadline: a busy machine is no fault of a rule. HYPOTHESIS_PROFILE=thorough looks longer.
_SLOW = [HealthCheck.too_slow]
settings.register_profile("usual", max_examples=40, deadline=None, suppress_health_check=_SLOW)
settings.register_profile("thorough", max_examples=1000, deadline=None, suppress_health_check=_SLOW)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "usual"))

NEEDS = {
    "docker": "a Docker engine and its base image; `.ci/docker-up` starts and makes them",
    "browser": "Chromium and its driver; `apt-get install chromium chromium-driver`",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--everything",
        action="store_true",
        help="leave nothing out: a test whose engine or browser is missing fails",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect, by name and with a line that says so, what this machine can't run."""
    left_out = {} if config.getoption("--everything") else _missing()
    chosen = [item for item in items if not any(item.get_closest_marker(name) for name in left_out)]
    counts = {name: sum(1 for item in items if item.get_closest_marker(name)) for name in left_out}
    config.stash[_LEFT_OUT] = {name: count for name, count in counts.items() if count}
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    # The long ones first: else one worker ends with them while the others have nothing left.
    items[:] = sorted(chosen, key=lambda item: item.get_closest_marker("slow") is None)


_LEFT_OUT = pytest.StashKey[dict[str, int]]()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    left_out = terminalreporter.config.stash.get(_LEFT_OUT, {})
    for name, count in left_out.items():
        terminalreporter.write_line(
            f"{count} tests marked {name!r} were left out: they need {NEEDS[name]}; "
            "--everything runs them all"
        )


def _missing() -> set[str]:
    missing = set()
    if not _engine_answers():
        missing.add("docker")
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        missing.add("browser")
    return missing


def _engine_answers() -> bool:
    try:
        client = docker.from_env(timeout=5)
        try:
            client.images.get("benchlib/base:bookworm")
        finally:
            client.close()
    except DockerException:
        return False
    return True


@pytest.fixture(scope="session")
def repository() -> Path:
    return Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared(repository: Path) -> Path | None:
    """The folder of specifications beside a developer's checkout; a user's clone has none."""
    folder = repository.parent / "shared"
    return folder if folder.is_dir() else None


@pytest.fixture
def git_repository(tmp_path: Path) -> Path:
    """An empty repository with an identity of its own."""
    root = tmp_path / "repository"
    subprocess.run(["git", "init", "-q", "-b", "main", str(root)], check=True)
    for name, value in (("user.name", "n"), ("user.email", "n@example.invalid")):
        subprocess.run(["git", "-C", str(root), "config", name, value], check=True)
    return root
