"""One arm, one pair, one cohort: the part that ties the others together.

Read `pair.py` first: the whole flow stands there as one function.

Decisions: no pipeline and no event class, a function that calls functions with a
`finally` for destroy. The journal is the only state of a run; receipts are files.
A pair whose first arm is void spends nothing on the second. Pairs run in threads,
for all real work happens in other processes; the two arms of a pair run one after
the other, so that they do not compete for the machine.
"""

from __future__ import annotations

from benchlib.run.audit import audit
from benchlib.run.cohort import (
    RunSummary,
    default_jobs,
    refuse_isolation,
    run_cohort,
    run_label,
)
from benchlib.run.pair import run_pair
from benchlib.run.premise import check_premise
from benchlib.run.preparation import (
    Prepared,
    examine_without_corpus,
    examine_workspace,
    prepare_workspace,
)
from benchlib.run.reasons import REASONS
from benchlib.run.receipts import ReceiptFolder
from benchlib.run.sandboxes import open_sandbox

__all__ = [
    "REASONS",
    "Prepared",
    "ReceiptFolder",
    "RunSummary",
    "audit",
    "check_premise",
    "default_jobs",
    "examine_without_corpus",
    "examine_workspace",
    "open_sandbox",
    "prepare_workspace",
    "refuse_isolation",
    "run_cohort",
    "run_label",
    "run_pair",
]
