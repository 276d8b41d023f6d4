"""The zoo: one program for each rule, started as anybody's provisioner is."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from conformance.programs import HERE, LIMITS, Check

from benchlib.contracts.cohort import ProvisionerLimits, VerbLimits
from benchlib.contracts.provisioner import ProvisionerCall
from benchlib.memory import ConformanceReport, run_conformance


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Check]:
    """Runs the kit, and holds what no provisioner may cause: see the asserts."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    before = _listing()

    def run(*argv: str, limits: ProvisionerLimits = LIMITS) -> ConformanceReport:
        report = run_conformance(argv, limits=limits)
        assert "destroy" in {call.verb for call in report.calls}, "destroy was not attempted"
        for call in report.calls:
            assert call.milliseconds <= _bound_milliseconds(call, limits)
        return report

    yield run
    assert _processes_in(scratch) == []
    assert list(scratch.iterdir()) == [], "files outside the pair's folder"
    assert _listing() == before


def _bound_milliseconds(call: ProvisionerCall, limits: ProvisionerLimits) -> int:
    verb: VerbLimits = getattr(limits, call.verb)
    return (verb.seconds + limits.grace_seconds + 1) * 1000


def _listing() -> list[str]:
    return sorted(str(path) for path in HERE.rglob("*") if "__pycache__" not in path.parts)


def _processes_in(scratch: Path) -> list[str]:
    """Every process that was started with the scratch folder in its environment."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                environment = (folder / "environ").read_bytes()
                command = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if f"TMPDIR={scratch}".encode() in environment:
                found.append(f"{folder.name} {command.decode(errors='replace')}")
    return found
