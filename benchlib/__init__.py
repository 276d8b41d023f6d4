"""Paired agent-memory benchmarks whose answer a stranger can check.

The main job, in eight lines:

    from pathlib import Path
    import benchlib

    cohort = Path("cohorts/demo/v1")
    plan = benchlib.open_plan(cohort)             # nothing moved since it was frozen
    benchlib.run_frozen(cohort, sandbox="local", resume=False,
                        receipts=Path("out/receipts"), jobs=1, progress=print)
    benchlib.analyze_frozen(cohort, receipts=Path("out/receipts"),
                            output=Path("out"), overwrite=False, progress=print)

Next to read: ``benchlib/run/pair.py``, the whole flow as one function.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchlib.analysis import load_folders, pair_view
    from benchlib.memory import run_conformance
    from benchlib.records import (
        analyze_frozen,
        freeze_cohort,
        open_plan,
        prepare_cohort,
        run_demo,
        run_frozen,
    )
    from benchlib.stats import plan_size, summarize

__version__ = "0.1.0"

_HOMES: Mapping[str, str] = {
    "analyze_frozen": "records",
    "freeze_cohort": "records",
    "load_folders": "analysis",
    "open_plan": "records",
    "pair_view": "analysis",
    "plan_size": "stats",
    "prepare_cohort": "records",
    "run_conformance": "memory",
    "run_demo": "records",
    "run_frozen": "records",
    "summarize": "stats",
}

__all__ = [
    "analyze_frozen",
    "freeze_cohort",
    "load_folders",
    "open_plan",
    "pair_view",
    "plan_size",
    "prepare_cohort",
    "run_conformance",
    "run_demo",
    "run_frozen",
    "summarize",
]


def __getattr__(name: str) -> object:
    """Load a name from its part when it is first asked for: `import benchlib` stays light."""
    if name not in _HOMES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
