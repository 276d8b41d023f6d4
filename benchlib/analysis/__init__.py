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
    from benchlib.analysis.drift import PlanDriftError, check_drift, compare_plans, diff
    from benchlib.analysis.emission import emit
    from benchlib.analysis.execute import Execution, execute_plan
    from benchlib.analysis.locks import make_lock
    from benchlib.analysis.parameters import check_parameters, parse_settings
    from benchlib.analysis.plans import FrozenPlan, pin_plan, read_plan

_HOMES: Mapping[str, str] = {
    "Execution": "execute",
    "FrozenPlan": "plans",
    "PlanDriftError": "drift",
    "check_drift": "drift",
    "check_parameters": "parameters",
    "compare_plans": "drift",
    "diff": "drift",
    "emit": "emission",
    "execute_plan": "execute",
    "make_lock": "locks",
    "parse_settings": "parameters",
    "pin_plan": "plans",
    "read_plan": "plans",
}

__all__ = [
    "Execution",
    "FrozenPlan",
    "PlanDriftError",
    "check_drift",
    "check_parameters",
    "compare_plans",
    "diff",
    "emit",
    "execute_plan",
    "make_lock",
    "parse_settings",
    "pin_plan",
    "read_plan",
]


def __getattr__(name: str) -> object:
    """Load a public name from its module when it is first asked for."""
    if name not in _HOMES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
