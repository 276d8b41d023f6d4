"""Exact statistics for paired benchmarks of few, dear attempts.

Read ``summary.py`` first: it ties the procedures together. Before the spending,
``plan_size``; after it, ``summarize``. Each procedure is one module and one function whose
frozen result carries its inputs, a one-sentence reading and canonical JSON.

    >>> from benchlib import stats
    >>> stats.mcnemar_test(gained=9, lost=2).reading
    '9 gained, 2 lost: p = 0.0655.'

Decisions: the standard library only. Whole numbers and fractions wherever the answer is
rational; floats where it is a root, and then only operations that every machine rounds
alike: no power, logarithm or built-in ``sum`` of floats. One record, ``Result``, with the
fields that all procedures share; a procedure with facts of its own adds them in a class of
its own, and nothing else is inherited. Arguments are named as the benchmark names them
(``gained``, ``lost``, ``pairs``), not by formula letters, because letters get swapped. The
methods of ``binomial_interval`` stay one function, for they answer one question and a plan
names one of them. An unconditional p is a float with a stated tolerance: certifying the
supremum would cost far more than it could change. The summary reads rows of its own, so
that this part knows no receipt.
"""

from __future__ import annotations

from benchlib.stats.binomial_interval import binomial_interval
from benchlib.stats.binomial_test import binomial_test
from benchlib.stats.cluster_permutation import cluster_permutation_test
from benchlib.stats.discordant_odds_ratio import discordant_odds_ratio
from benchlib.stats.equivalence import EquivalenceTest, equivalence_test
from benchlib.stats.evalue import Evalue, evalue
from benchlib.stats.hodges_lehmann import hodges_lehmann
from benchlib.stats.holm import Adjusted, holm
from benchlib.stats.mcnemar import mcnemar_exact, mcnemar_test
from benchlib.stats.median_interval import RankInterval, median_interval
from benchlib.stats.min_p import min_p
from benchlib.stats.noninferiority import noninferiority_test
from benchlib.stats.paired_difference import paired_difference_interval
from benchlib.stats.paired_permutation import paired_permutation_test
from benchlib.stats.paired_unconditional import UnconditionalTest, paired_unconditional_test
from benchlib.stats.pass_at_k import pass_at_k, pass_hat_k
from benchlib.stats.plan_size import PlanRow, PlanSize, plan_size
from benchlib.stats.power import Power, mcnemar_power
from benchlib.stats.printing import print_value
from benchlib.stats.result import ExactTest, Interval, Result
from benchlib.stats.sample_size import SampleSize, mcnemar_sample_size
from benchlib.stats.sequential import (
    Boundaries,
    StoppingPlan,
    sequential_boundaries,
    sequential_p_value,
    sequential_plan,
)
from benchlib.stats.sign_test import SignTest, sign_test
from benchlib.stats.smallest_difference import (
    SmallestDifference,
    smallest_detectable_difference,
)
from benchlib.stats.stratified import stratified_exact_test
from benchlib.stats.summary import Summary, SummaryLine, summarize
from benchlib.stats.summary_rows import PairRow, PlannedEndpoint, SummaryPlan
from benchlib.stats.wilcoxon import SignedRankTest, wilcoxon_signed_rank

__all__ = [
    "Adjusted",
    "Boundaries",
    "EquivalenceTest",
    "Evalue",
    "ExactTest",
    "Interval",
    "PairRow",
    "PlanRow",
    "PlanSize",
    "PlannedEndpoint",
    "Power",
    "RankInterval",
    "Result",
    "SampleSize",
    "SignTest",
    "SignedRankTest",
    "SmallestDifference",
    "StoppingPlan",
    "Summary",
    "SummaryLine",
    "SummaryPlan",
    "UnconditionalTest",
    "binomial_interval",
    "binomial_test",
    "cluster_permutation_test",
    "discordant_odds_ratio",
    "equivalence_test",
    "evalue",
    "hodges_lehmann",
    "holm",
    "mcnemar_exact",
    "mcnemar_power",
    "mcnemar_sample_size",
    "mcnemar_test",
    "median_interval",
    "min_p",
    "noninferiority_test",
    "paired_difference_interval",
    "paired_permutation_test",
    "paired_unconditional_test",
    "pass_at_k",
    "pass_hat_k",
    "plan_size",
    "print_value",
    "sequential_boundaries",
    "sequential_p_value",
    "sequential_plan",
    "sign_test",
    "smallest_detectable_difference",
    "stratified_exact_test",
    "summarize",
    "wilcoxon_signed_rank",
]
