"""Frozen notebooks: pin, execute, tables, charts, report, views.

A plan notebook is the analysis; this part proves that it did not move, runs it in
a clean kernel, and writes exactly the tables that it promised. Explore notebooks
use the same frames, charts and views.

Decisions: the digest covers what a plan says and never what a tool adds, so that
saving a notebook changes nothing and one character does. papermill executes, in
this process, with a kernel of ours: no kernelspec of the user's, no inherited
environment, Unix sockets, and namespaces where the machine has them; the record
says which. What papermill calls a success is judged again. Tables hold exact cells
and no float; their bytes depend on receipts and plan alone, so times and machine
stand in ``execution.json`` and the digest of the inputs in ``tables.json``. Names
are loaded when they are first used: a kernel needs no chart library and
``benchlib --help`` no pandas.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchlib.analysis.cohort_analysis import Analysis, analyze
    from benchlib.analysis.drift import PlanDriftError, check_drift, compare_plans, diff
    from benchlib.analysis.emission import emit
    from benchlib.analysis.execute import Execution, execute_plan
    from benchlib.analysis.frames import Receipts, load, load_folders, load_receipts
    from benchlib.analysis.locks import make_lock
    from benchlib.analysis.parameters import check_parameters, parse_settings
    from benchlib.analysis.plans import PINNED_NAME, FrozenPlan, pin_plan, read_pinned, read_plan
    from benchlib.analysis.report import Report, write_report
    from benchlib.analysis.views import pair_view

_HOMES: Mapping[str, str] = {
    "Analysis": "cohort_analysis",
    "Execution": "execute",
    "FrozenPlan": "plans",
    "PINNED_NAME": "plans",
    "PlanDriftError": "drift",
    "Receipts": "frames",
    "Report": "report",
    "analyze": "cohort_analysis",
    "check_drift": "drift",
    "check_parameters": "parameters",
    "compare_plans": "drift",
    "diff": "drift",
    "emit": "emission",
    "execute_plan": "execute",
    "load": "frames",
    "load_folders": "frames",
    "load_receipts": "frames",
    "make_lock": "locks",
    "pair_view": "views",
    "parse_settings": "parameters",
    "pin_plan": "plans",
    "read_pinned": "plans",
    "read_plan": "plans",
    "write_report": "report",
}

__all__ = [
    "PINNED_NAME",
    "Analysis",
    "Execution",
    "FrozenPlan",
    "PlanDriftError",
    "Receipts",
    "Report",
    "analyze",
    "check_drift",
    "check_parameters",
    "compare_plans",
    "diff",
    "emit",
    "execute_plan",
    "load",
    "load_folders",
    "load_receipts",
    "make_lock",
    "pair_view",
    "parse_settings",
    "pin_plan",
    "read_pinned",
    "read_plan",
    "write_report",
]


def __getattr__(name: str) -> object:
    """Load a public name from its module when it is first asked for."""
    if name not in _HOMES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
