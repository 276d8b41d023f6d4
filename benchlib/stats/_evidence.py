"""What one planned endpoint says: its family's test and that family's interval, never mixed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from benchlib.stats._unconditional import p_two_sided
from benchlib.stats.cluster_permutation import cluster_permutation_test
from benchlib.stats.discordant_odds_ratio import discordant_odds_ratio
from benchlib.stats.equivalence import equivalence_test
from benchlib.stats.evalue import evalue
from benchlib.stats.hodges_lehmann import hodges_lehmann
from benchlib.stats.mcnemar import mcnemar_test
from benchlib.stats.median_interval import median_interval
from benchlib.stats.noninferiority import noninferiority_test
from benchlib.stats.paired_difference import paired_difference_interval
from benchlib.stats.paired_permutation import paired_permutation_test
from benchlib.stats.paired_unconditional import paired_unconditional_test
from benchlib.stats.result import Interval, Limit, Result
from benchlib.stats.sequential import sequential_boundaries, sequential_p_value
from benchlib.stats.sign_test import sign_test
from benchlib.stats.stratified import stratified_exact_test
from benchlib.stats.wilcoxon import wilcoxon_signed_rank


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The admitted pairs of one line, both of whose arms were measured."""

    differences: tuple[Fraction, ...]  # treatment minus control
    clusters: tuple[tuple[Fraction, ...], ...]  # the same, by question
    strata: tuple[tuple[int, int, int, int], ...]  # of outcomes, by question; else empty
    level: Fraction

    @property
    def gained(self) -> int:
        """Pairs in which the treatment's value is the larger."""
        return sum(d > 0 for d in self.differences)

    @property
    def lost(self) -> int:
        """Pairs in which the control's value is the larger."""
        return sum(d < 0 for d in self.differences)

    @property
    def pairs(self) -> int:
        """All pairs."""
        return len(self.differences)


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """A test with the estimate and interval that belong to it."""

    procedure: str
    estimates: str  # what the estimate is
    estimate: Limit | None
    lower: Limit | None = None
    upper: Limit | None = None
    level: Fraction | None = None  # of the interval
    p: Limit | None
    least_p: Limit | None
    convention: str | None
    note: str = ""


def _together(
    test: Result, interval: Interval | Result, estimates: str, least_p: Limit | None = None
) -> Evidence:
    return Evidence(
        procedure=test.procedure,
        estimates=estimates,
        estimate=interval.estimate,
        lower=interval.lower,
        upper=interval.upper,
        level=interval.level,
        p=test.p,
        least_p=test.least_p if least_p is None else least_p,
        convention=test.convention,
        note="; ".join(dict.fromkeys(note for note in (test.note, interval.note) if note)),
    )


def _conditional(data: Measured) -> Evidence:
    test = mcnemar_test(gained=data.gained, lost=data.lost)
    ratio = discordant_odds_ratio(gained=data.gained, lost=data.lost, level=data.level)
    return _together(test, ratio, "odds of a gain among pairs that differ")


def _difference(data: Measured, level: Fraction) -> Interval:
    return paired_difference_interval(
        gained=data.gained, lost=data.lost, pairs=data.pairs, level=level
    )


def _unconditional(data: Measured) -> Evidence:
    test = paired_unconditional_test(gained=data.gained, lost=data.lost, pairs=data.pairs)
    least = p_two_sided(data.pairs, 0, data.pairs, Fraction(0))
    return _together(test, _difference(data, data.level), "risk difference", least)


def _clusters(data: Measured) -> Evidence:
    test = cluster_permutation_test(data.clusters)
    return _together(test, test, "mean difference of questions")


def _strata(data: Measured) -> Evidence:
    test = stratified_exact_test(data.strata)
    pooled = Fraction(sum(data.differences), data.pairs)
    found = _together(test, test, "risk difference over these questions")
    return dataclasses.replace(found, estimate=pooled)


def _permutation(data: Measured) -> Evidence:
    test = paired_permutation_test(data.differences)
    return _together(test, test, "mean difference")


def _signed_rank(data: Measured) -> Evidence:
    test = wilcoxon_signed_rank(data.differences)
    return _together(test, hodges_lehmann(data.differences, level=data.level), "typical difference")


def _sign(data: Measured) -> Evidence:
    test = sign_test(data.differences)
    interval = median_interval(data.differences, level=data.level)
    return _together(test, interval, "median difference")


Family = Callable[[Measured], Evidence]

OUTCOME_FAMILIES: Mapping[str, Family] = {
    "conditional": _conditional,
    "unconditional": _unconditional,
    "clusters": _clusters,
    "strata": _strata,
}
MEASURE_FAMILIES: Mapping[str, Family] = {
    "permutation": _permutation,
    "signed-rank": _signed_rank,
    "sign": _sign,
    "clusters": _clusters,
}
BY_QUESTION = ("clusters", "strata")
"""Families whose unit is the question, so that a repeated question is no evidence twice."""


def equivalence(data: Measured, margin: Fraction) -> Evidence:
    """Say whether the difference is smaller than the margin, with the interval that agrees."""
    counts = {"gained": data.gained, "lost": data.lost, "pairs": data.pairs}
    test = equivalence_test(**counts, margin=margin)
    least = equivalence_test(gained=0, lost=0, pairs=data.pairs, margin=margin)
    # Rejecting at alpha is the interval of level 1 - 2 alpha inside the margin.
    return _together(test, _difference(data, _one_sided(data.level)), "risk difference", least.p)


def noninferiority(data: Measured, margin: Fraction) -> Evidence:
    """Say whether the loss is smaller than the margin."""
    counts = {"gained": data.gained, "lost": data.lost, "pairs": data.pairs}
    test = noninferiority_test(**counts, margin=margin)
    least = noninferiority_test(gained=data.pairs, lost=0, pairs=data.pairs, margin=margin)
    return _together(test, _difference(data, _one_sided(data.level)), "risk difference", least.p)


def _one_sided(level: Fraction) -> Fraction:
    return max(2 * level - 1, Fraction(1, 100))


def at_a_look(
    data: Measured, looks: Sequence[int], spend: Sequence[Fraction], look: int
) -> Evidence:
    """Say what a planned look says; no p while no bound is crossed and looks are left."""
    bounds = sequential_boundaries(looks=looks, alpha=1 - data.level, spend=spend)
    at = list(looks).index(look)
    bound = bounds.upper_bounds[at]
    is_crossed = bound is not None and max(data.gained, data.lost) >= bound
    ratio = discordant_odds_ratio(gained=data.gained, lost=data.lost, level=data.level)
    p = None
    if is_crossed or at + 1 == len(looks):
        p = sequential_p_value(
            looks=looks, uppers=bounds.upper_bounds, stopped_at=at + 1, x=data.gained
        ).p
    return Evidence(
        procedure="sequential_p_value",
        estimates="odds of a gain among pairs that differ",
        estimate=ratio.estimate,
        p=p,
        least_p=None,
        convention="stagewise ordering",
        note="" if p is not None else "no bound crossed at this look: go on to the next",
    )


def unplanned(data: Measured) -> Evidence:
    """Say what may be said of outcomes when the cohort stopped at an unplanned moment."""
    found = evalue(gained=data.gained, lost=data.lost)
    all_gained = evalue(gained=data.gained + data.lost, lost=0)
    return Evidence(
        procedure="evalue",
        estimates="risk difference",
        estimate=Fraction(data.gained - data.lost, data.pairs),
        p=found.p_anytime,
        least_p=all_gained.p_anytime,
        convention="at any stopping time",
        note="stopped at an unplanned moment: e-value",
    )
