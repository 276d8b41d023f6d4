"""Fixtures of the agents' tests."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from agents.desk import Desk

from benchlib.gateway import Answer, read_policy, scripted_answer


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    root = tmp_path / "d"
    root.mkdir()
    return Desk(root)


@pytest.fixture
def sample(repository: Path) -> Answer:
    """The small sample policy: looks, asks where it can, writes what it heard."""
    return partial(scripted_answer, read_policy(repository / "tests/agents/sample_policy.json"))
