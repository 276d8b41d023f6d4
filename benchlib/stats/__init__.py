"""Exact statistics for paired benchmarks of few, dear attempts.

Decisions: the standard library only. Whole numbers and fractions wherever the answer is
rational; floats where it is a root, and then only operations that every machine rounds
alike. One procedure, one module, one frozen result that carries its inputs.
"""

from __future__ import annotations

from benchlib.stats.binomial_interval import binomial_interval
from benchlib.stats.cluster_permutation import cluster_permutation_test
from benchlib.stats.mcnemar import mcnemar_exact, mcnemar_test
from benchlib.stats.printing import print_value
from benchlib.stats.result import ExactTest, Interval, Result

__all__ = [
    "ExactTest",
    "Interval",
    "Result",
    "binomial_interval",
    "cluster_permutation_test",
    "mcnemar_exact",
    "mcnemar_test",
    "print_value",
]
