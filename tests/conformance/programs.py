"""How the programs of the zoo are named and held."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from benchlib.contracts.cohort import ProvisionerLimits, VerbLimits
from benchlib.memory import ConformanceReport

HERE = Path(__file__).parent
LIMITS = ProvisionerLimits(
    restore=VerbLimits(seconds=3, stdout_bytes=64 * 1024),
    snapshot=VerbLimits(seconds=3, stdout_bytes=1024 * 1024),
    destroy=VerbLimits(seconds=3, stdout_bytes=4 * 1024),
    grace_seconds=1,
)

Check = Callable[..., ConformanceReport]


def program(name: str, *words: str) -> tuple[str, ...]:
    return (sys.executable, "-B", str(HERE / "zoo" / f"{name}.py"), *words)
