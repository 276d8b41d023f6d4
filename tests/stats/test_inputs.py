from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from benchlib import stats
from benchlib.errors import InputError

Call = Callable[[], object]


def test_counts_of_numpy_and_pandas_are_counts() -> None:
    plain = stats.mcnemar_test(gained=9, lost=2)
    assert stats.mcnemar_test(gained=np.int64(9), lost=np.uint8(2)) == plain
    counts = pd.Series([9, 2], dtype="Int64")
    assert stats.mcnemar_test(gained=counts[0], lost=counts[1]) == plain
    assert stats.mcnemar_test(gained=np.int32(9), lost=2).canonical_json() == plain.canonical_json()


def test_measures_of_numpy_and_pandas_are_measures() -> None:
    plain = stats.wilcoxon_signed_rank([3, -1, 2, 5, 0, 4])
    assert stats.wilcoxon_signed_rank(np.array([3, -1, 2, 5, 0, 4])) == plain
    assert stats.wilcoxon_signed_rank(pd.Series([3.0, -1.0, 2.0, 5.0, 0.0, 4.0])) == plain


def test_a_float_is_what_its_shortest_text_says() -> None:
    tied = stats.wilcoxon_signed_rank([0.1 + 0.2, -0.3])
    assert tied.inputs[0][1] == (Fraction("0.30000000000000004"), Fraction(-3, 10))
    assert stats.wilcoxon_signed_rank([Decimal("0.3"), "-0.3", "3/10"]).w_plus == 4
    assert stats.binomial_test(successes=1, attempts=9, p0=0.1).inputs[2][1] == Fraction(1, 10)


REFUSED_COUNTS = [None, "3", 3.0, -1, math.nan, Fraction(3), Decimal(3), True, [3]]


@pytest.mark.parametrize("value", REFUSED_COUNTS, ids=repr)
def test_what_is_no_count_is_refused_by_name(value: object) -> None:
    with pytest.raises(InputError) as caught:
        stats.mcnemar_test(gained=value, lost=1)
    assert (caught.value.place, caught.value.field) == ("mcnemar_test", "gained")


REFUSED_LEVELS = [
    95,
    "95",
    1,
    0,
    "0",
    -0.5,
    "95%",
    None,
    math.nan,
    math.inf,
    True,
    "1e-9999",
    "\u0660.\u0669",
]


@pytest.mark.parametrize("level", REFUSED_LEVELS, ids=repr)
@pytest.mark.parametrize(
    "call",
    [
        lambda level: stats.binomial_interval(successes=1, attempts=5, level=level),
        lambda level: stats.discordant_odds_ratio(gained=1, lost=5, level=level),
        lambda level: stats.paired_difference_interval(gained=1, lost=1, pairs=5, level=level),
        lambda level: stats.median_interval([1, 2, 3], level=level),
        lambda level: stats.hodges_lehmann([1, 2, 3], level=level),
    ],
)
def test_a_level_is_above_0_and_below_1(call: Callable[[object], object], level: object) -> None:
    with pytest.raises(InputError) as caught:
        call(level)
    assert caught.value.field == "level"


REFUSED_MEASURES = [None, "", "x", "nan", "inf", "1/0", math.nan, -math.inf, Decimal("NaN"), True]
REFUSED_MEASURES += [Decimal("1E+99999"), "1e99999", "1_000", 3j, np.float32(0.1)]
ON_MEASURES = [
    stats.sign_test,
    stats.wilcoxon_signed_rank,
    stats.hodges_lehmann,
    stats.paired_permutation_test,
    stats.median_interval,
]


@pytest.mark.parametrize("value", REFUSED_MEASURES, ids=repr)
@pytest.mark.parametrize("procedure", ON_MEASURES, ids=lambda f: f.__name__)
def test_what_is_no_number_is_refused_by_name_and_position(
    procedure: Callable[[list[object]], object], value: object
) -> None:
    with pytest.raises(InputError) as caught:
        procedure([1, value, 2])
    name = "values" if procedure is stats.median_interval else "diffs"
    assert caught.value.field == f"{name}[1]"


@pytest.mark.parametrize("values", [[], "12", {1, 2}, {1: 2}, 5, None], ids=repr)
@pytest.mark.parametrize("procedure", ON_MEASURES, ids=lambda f: f.__name__)
def test_what_is_no_list_of_measures_is_refused(
    procedure: Callable[[object], object], values: object
) -> None:
    with pytest.raises(InputError) as caught:
        procedure(values)
    assert caught.value.field in {"diffs", "values"}


REFUSALS: list[tuple[str, str, Call]] = [
    ("more successes than attempts", "successes",
     lambda: stats.binomial_test(successes=4, attempts=3, p0="0.5")),
    ("a mid-p with another convention", "mid_p",
     lambda: stats.binomial_test(
         successes=1, attempts=3, p0="0.5", convention="minlike", mid_p=True)),
    ("an unknown convention", "convention",
     lambda: stats.binomial_test(successes=1, attempts=3, p0="0.5", convention="wald")),
    ("too many digits to count exactly", "attempts",
     lambda: stats.binomial_test(successes=1, attempts=90_000, p0="0.123456789")),
    ("more attempts than can be bounded", "attempts",
     lambda: stats.binomial_interval(successes=1, attempts=10**9)),
    ("a Wald interval", "method",
     lambda: stats.discordant_odds_ratio(gained=1, lost=2, method="wald")),
    ("too many pairs for the tie rule", "pairs",
     lambda: stats.paired_unconditional_test(gained=1, lost=2, pairs=2001)),
    ("a difference beyond 1", "delta0",
     lambda: stats.paired_unconditional_test(gained=1, lost=2, pairs=9, delta0="1.01")),
    ("a margin of 1", "margin",
     lambda: stats.equivalence_test(gained=1, lost=2, pairs=9, margin=1)),
    ("2,000 ranks", "diffs", lambda: stats.wilcoxon_signed_rank(range(1, 2001))),
    ("50 values of ten digits", "diffs",
     lambda: stats.paired_permutation_test([10**9 + 7 * i for i in range(50)])),
    ("an unknown rule for zeros", "zeros",
     lambda: stats.wilcoxon_signed_rank([1, 2], zeros="keep")),
    ("a cluster that is no list", "clusters[1]",
     lambda: stats.cluster_permutation_test([[1], 2])),
    ("an unknown weight", "weight",
     lambda: stats.cluster_permutation_test([[1], [2]], weight="sqrt")),
    ("a stratum of three counts", "strata[0]", lambda: stats.stratified_exact_test([[1, 2, 3]])),
    ("a stratum with more successes than attempts", "strata[1]",
     lambda: stats.stratified_exact_test([[1, 2, 1, 2], [3, 2, 1, 2]])),
    ("Blaker for strata", "convention",
     lambda: stats.stratified_exact_test([[1, 2, 1, 2]], convention="blaker")),
    ("no attempt at a question", "attempts[0]", lambda: stats.pass_at_k([[0, 0]], k=1)),
    ("k of 0", "k", lambda: stats.pass_hat_k([[3, 1]], k=0)),
    ("a negative p", "p_values[0]", lambda: stats.holm(["-0.1"])),
    ("21 pairs of several endpoints", "endpoints[0]", lambda: stats.min_p([[1] * 21])),
    ("no endpoint", "endpoints", lambda: stats.min_p([])),
    ("a size out of reach", "power",
     lambda: stats.mcnemar_sample_size(p_gained="0.101", p_lost="0.1")),
    ("no effect to find", "p_gained",
     lambda: stats.mcnemar_sample_size(p_gained="0.1", p_lost="0.1")),
    ("an effect in the other direction", "p_gained",
     lambda: stats.mcnemar_sample_size(p_gained="0.1", p_lost="0.2", alternative="greater")),
    ("a power of 1", "power",
     lambda: stats.mcnemar_sample_size(p_gained="0.3", p_lost="0.1", power=1)),
    ("an alpha of 5", "alpha",
     lambda: stats.mcnemar_power(pairs=9, p_gained="0.3", p_lost="0.1", alpha=5)),
    ("shares that fall", "spend",
     lambda: stats.sequential_boundaries(looks=[5, 9], spend=["0.5", "0.4"])),
    ("shares for fewer looks", "spend",
     lambda: stats.sequential_boundaries(looks=[5, 9], spend=["1"])),
    ("bounds that cross", "looks[0]",
     lambda: stats.sequential_plan(looks=[{"m": 5, "lower": 3, "upper": 3}], theta="0.5")),
    ("a look without a bound", "looks[0]",
     lambda: stats.sequential_plan(looks=[{"m": 5, "upper": 3}], theta="0.5")),
    ("an unplanned stop", "x",
     lambda: stats.sequential_p_value(looks=[8, 16], uppers=[8, 13], stopped_at=1, x=7)),
    ("a count that an earlier bound made impossible", "x",
     lambda: stats.sequential_p_value(looks=[8, 16], uppers=[8, 13], stopped_at=2, x=16)),
    ("a look that isn't in the plan", "stopped_at",
     lambda: stats.sequential_p_value(looks=[8], uppers=[8], stopped_at=2, x=8)),
    ("an infinite p", "value", lambda: stats.print_value("inf", kind="p")),
    ("a p above 1", "value", lambda: stats.print_value("1.00001", kind="p")),
    ("no number", "value", lambda: stats.print_value("nan")),
    ("an unknown kind", "kind", lambda: stats.print_value(1, kind="mean")),
    ("negative digits", "digits", lambda: stats.print_value(1, -1)),
    ("a difference of 0", "difference", lambda: stats.plan_size(difference=0)),
    ("a negative price", "price", lambda: stats.plan_size(difference="0.3", price=-1)),
    ("a discordance below the difference", "discordances[1]",
     lambda: stats.plan_size(difference="0.3", discordances=["0.3", "0.2"])),
]  # fmt: skip


@pytest.mark.parametrize(("field", "call"), [r[1:] for r in REFUSALS], ids=[r[0] for r in REFUSALS])
def test_bad_input_is_refused_by_the_name_of_its_argument(field: str, call: Call) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert caught.value.field == field
    assert caught.value.exit_status == 2
    assert caught.value.allowed
    assert caught.value.next_step
