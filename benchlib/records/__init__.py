"""Receipts over time: freezing, comparability, and what a stranger can check.

Decisions: one lock file per cohort version, with the digest of every file that a
run reads; a challenge and a fixture pin their own parts too, so that each can be
read alone. A folder's digest is the tree digest of the kit, not that of an archive.
"""

from __future__ import annotations

from benchlib.records.bench import bench_table
from benchlib.records.cohort_files import CohortFiles, folder_sha256, read_cohort
from benchlib.records.comparability import key_differences, require_one_key
from benchlib.records.freeze import LOCK_NAME, freeze, open_plan
from benchlib.records.verbs import (
    DemoResult,
    PreparedCohort,
    analyze_frozen,
    default_receipts,
    find_repository,
    freeze_cohort,
    open_lab,
    prepare_cohort,
    run_demo,
    run_frozen,
)

__all__ = [
    "LOCK_NAME",
    "CohortFiles",
    "DemoResult",
    "PreparedCohort",
    "analyze_frozen",
    "bench_table",
    "default_receipts",
    "find_repository",
    "folder_sha256",
    "freeze",
    "freeze_cohort",
    "key_differences",
    "open_lab",
    "open_plan",
    "prepare_cohort",
    "read_cohort",
    "require_one_key",
    "run_demo",
    "run_frozen",
]
