"""Agreement with the plainest possible computation, for small n."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from stats.enumeration import HALF, ONE, ZERO, binomial, doubled, flips, table_chance, tables

from benchlib import stats
from benchlib.stats import _flips, _half
from benchlib.stats._region import thresholds
from benchlib.stats._supremum import probability

VALUES = [
    [1, 2, 3, 4, 5],
    [1, 1, 1, 1, 1, 1],
    [0, 0, 2, -2, 5, 5, -1],
    ["0.1", "0.2", "0.3", "-0.3", "0.4"],
    ["1/3", "1/7", "-2/5", 4],
    [10**12, 10**12 + 1, -(10**12) + 7, 3, 5, 7, 11],
]


@pytest.mark.parametrize("values", VALUES, ids=str)
def test_a_permutation_p_is_a_share_of_all_sign_patterns(values: list[int | str]) -> None:
    terms = [Fraction(value) for value in values]
    sums = [sum(pattern, ZERO) for pattern in flips(terms)]
    observed = sum(terms, ZERO)
    assert stats.paired_permutation_test(values).p == doubled(observed, sums)
    above = Fraction(sum(value >= observed for value in sums), len(sums))
    assert stats.paired_permutation_test(values, alternative="greater").p == above


@pytest.mark.parametrize("zeros", ["drop", "pratt"])
@pytest.mark.parametrize("values", VALUES, ids=str)
def test_a_signed_rank_p_is_a_share_of_all_sign_patterns(
    values: list[int | str], zeros: str
) -> None:
    terms = [Fraction(value) for value in values]
    used = [t for t in terms if t] if zeros == "drop" else terms
    size = [abs(t) for t in used]
    ranks = [
        sum(other < s for other in size) + Fraction(sum(other == s for other in size) + 1, 2)
        for s in size
    ]
    signed = [r if t > 0 else -r for r, t in zip(ranks, used, strict=True) if t]
    w = [sum((r for r in pattern if r > 0), ZERO) for pattern in flips(signed)]
    observed = sum((r for r in signed if r > 0), ZERO)
    found = stats.wilcoxon_signed_rank(values, zeros=zeros)
    assert (found.w_plus, found.p) == (observed, doubled(observed, w))


MAGNITUDES = [[1], [3, 3], [1, 2, 3, 4, 5, 6, 7], [10, 1, 4, 4, 9], [2] * 9, list(range(1, 14))]


@pytest.mark.parametrize("magnitudes", MAGNITUDES, ids=str)
def test_both_ways_of_counting_sums_agree_with_all_subsets(magnitudes: list[int]) -> None:
    ordered = sorted(magnitudes)
    sums = [
        sum(subset)
        for size in range(len(ordered) + 1)
        for subset in itertools.combinations(ordered, size)
    ]
    for at in range(-1, sum(ordered) + 2):
        expected = sum(value <= at for value in sums)
        assert _flips.count_at_most(ordered, at) == expected
        if 0 <= at < sum(ordered):
            assert _flips._packed(ordered, at) == expected
            assert _flips._dealt(ordered, at) == expected
            assert _flips._halved(ordered, at) == expected


@pytest.mark.parametrize("m", [0, 1, 2, 5, 40, 41])
def test_both_ways_of_summing_a_tail_agree(m: int) -> None:
    for k in range(-1, m + 2):
        assert _half.lower_count(m, k) == sum(math.comb(m, i) for i in range(min(k, m) + 1))


@pytest.mark.parametrize("n", [1, 2, 5, 9, 14])
@pytest.mark.parametrize("delta", [-0.3, 0.0, 0.25])
def test_the_recursion_over_tables_is_the_sum_over_all_tables(n: int, delta: float) -> None:
    for b, c in tables(n):
        least = thresholds(b, c, n, delta)
        for at in range(5):
            phi = abs(delta) + (1 - abs(delta)) * at / 4
            brute = math.fsum(
                table_chance(x, y, n, (phi + delta) / 2, max(0.0, (phi - delta) / 2))
                for x, y in tables(n)
                if x >= least[x + y]
            )
            assert probability(least, delta, phi) == pytest.approx(brute, abs=1e-12)


def score(b: int, c: int, n: int, delta: float) -> float:
    """Tango's statistic by its definition, the likelihood maximised numerically."""

    def loglik(phi: float) -> float:
        gain, loss = (phi + delta) / 2, (phi - delta) / 2
        parts = ((b, gain), (c, loss), (n - b - c, 1 - phi))
        if any(count and chance <= 0 for count, chance in parts):
            return -math.inf
        return sum(count * math.log(chance) for count, chance in parts if count)

    low, high = abs(delta), 1.0
    for _ in range(90):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if loglik(left) >= loglik(right) else (left, high)
    variance = n * (low - delta * delta)
    excess = b - c - n * delta
    return excess / math.sqrt(variance) if variance > 1e-15 else math.copysign(math.inf, excess)


def listed_thresholds(b: int, c: int, n: int, delta: float) -> list[int]:
    observed = score(b, c, n, delta) if (b, c) != (0, 0) or delta else 0.0
    found = []
    for m in range(n + 1):
        inside = [
            x
            for x in range(m + 1)
            if (score(x, m - x, n, delta) if m or delta else 0.0) >= observed - 1e-6
        ]
        found.append(min(inside, default=m + 1))
    return found


@pytest.mark.parametrize(("n", "delta"), [(5, 0.0), (5, -0.2), (4, 0.35)])
def test_the_unconditional_p_is_the_largest_over_all_tables(n: int, delta: float) -> None:
    """Statistic by maximising the likelihood, region by listing, supremum by a dense grid."""
    for b, c in tables(n):
        least = listed_thresholds(b, c, n, delta)
        region = [(x, y) for x, y in tables(n) if x >= least[x + y]]
        largest = max(
            math.fsum(
                table_chance(x, y, n, (phi + delta) / 2, max(0.0, (phi - delta) / 2))
                for x, y in region
            )
            for phi in (abs(delta) + (1 - abs(delta)) * at / 200 for at in range(201))
        )
        found = stats.paired_unconditional_test(
            gained=b, lost=c, pairs=n, delta0=delta, alternative="greater"
        ).p
        assert largest - 1e-9 <= found <= largest + 5e-4


@pytest.mark.parametrize(("b", "c", "n"), [(8, 2, 20), (1, 7, 21), (3, 1, 9), (0, 0, 12)])
def test_the_coarse_scan_gives_the_limits_of_a_full_one(
    b: int, c: int, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = stats.paired_difference_interval(gained=b, lost=c, pairs=n)
    monkeypatch.setattr("benchlib.stats.paired_difference._CLEARLY_BELOW", 0.0)
    assert stats.paired_difference_interval(gained=b, lost=c, pairs=n) == quick


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("mid_p", [False, True])
def test_power_is_the_sum_over_all_tables_that_reject(alternative: str, mid_p: bool) -> None:
    gain, loss, alpha = Fraction(2, 5), Fraction(1, 8), Fraction(1, 10)
    for n in (1, 4, 9):
        brute = ZERO
        for b, c in tables(n):
            p = stats.mcnemar_test(gained=b, lost=c, alternative=alternative, mid_p=mid_p).p
            if p <= alpha and b + c:
                ways = math.comb(n, b) * math.comb(n - b, c)
                brute += ways * gain**b * loss**c * (1 - gain - loss) ** (n - b - c)
        found = stats.mcnemar_power(
            pairs=n, p_gained=gain, p_lost=loss, alpha=alpha, alternative=alternative, mid_p=mid_p
        )
        assert found.power == brute


@pytest.mark.parametrize(("gain", "loss"), [("1", "0"), ("0", "1"), ("0.5", "0.5"), ("0", "0")])
def test_power_at_the_ends_of_its_range(gain: str, loss: str) -> None:
    brute = ZERO
    for b, c in tables(8):
        if stats.mcnemar_test(gained=b, lost=c).p <= Fraction(1, 20) and b + c:
            rest = 1 - Fraction(gain) - Fraction(loss)
            ways = math.comb(8, b) * math.comb(8 - b, c)
            brute += ways * Fraction(gain) ** b * Fraction(loss) ** c * rest ** (8 - b - c)
    assert stats.mcnemar_power(pairs=8, p_gained=gain, p_lost=loss).power == brute


def test_the_sample_size_is_the_one_that_exact_power_gives() -> None:
    gain, loss, target = Fraction(1, 2), Fraction(1, 20), Fraction(4, 5)
    found = stats.mcnemar_sample_size(p_gained=gain, p_lost=loss, power=target)
    powers = [ZERO] + [
        stats.mcnemar_power(pairs=n, p_gained=gain, p_lost=loss).power for n in range(1, 100)
    ]
    first = next(n for n, power in enumerate(powers) if power >= target)
    end = 2 * first + 49
    failing = [n for n in range(first, end + 1) if powers[n] < target]
    assert (found.n_first, found.n_stable) == (first, failing[-1] + 1 if failing else first)
    assert found.power_at_n_stable == powers[found.n_stable]


def test_power_has_teeth_that_the_stable_size_is_past() -> None:
    """Where every pair is discordant, one pair more can lose the power again."""
    found = stats.mcnemar_sample_size(p_gained="0.75", p_lost="0.25")
    after = stats.mcnemar_power(pairs=found.n_first + 1, p_gained="0.75", p_lost="0.25").power
    assert after < Fraction(4, 5)
    assert found.n_first < found.n_stable


def test_the_smallest_difference_is_where_exact_power_reaches_the_target() -> None:
    found = stats.smallest_detectable_difference(pairs=40, discordant="0.5").difference
    assert found is not None

    def power(delta: float) -> Fraction:
        gain = (HALF + Fraction(delta)) / 2
        return stats.mcnemar_power(pairs=40, p_gained=gain, p_lost=HALF - gain).power

    assert power(found - 1e-9) < Fraction(4, 5) < power(found + 1e-9)


@pytest.mark.parametrize("theta", ["1/2", "1/5", "1", "0"])
def test_a_stopping_plan_is_the_sum_over_all_paths(theta: str) -> None:
    looks = [{"m": 3, "lower": 0, "upper": 3}, {"m": 6, "lower": 2, "upper": 5}]
    looks.append({"m": 9, "lower": 4, "upper": 6})
    share = Fraction(theta)
    reject, expected, stops = ZERO, ZERO, [ZERO] * 3
    for path in itertools.product((0, 1), repeat=9):
        chance = share ** sum(path) * (1 - share) ** (9 - sum(path))
        for at, look in enumerate(looks):
            x = sum(path[: look["m"]])
            if x >= look["upper"] or x <= look["lower"] or at == 2:
                reject += chance * (x >= look["upper"])
                expected += chance * look["m"]
                stops[at] += chance
                break
    found = stats.sequential_plan(looks=looks, theta=theta)
    assert (found.reject, found.expected_m, found.stop_per_look) == (reject, expected, tuple(stops))
    assert sum(found.stop_per_look) == 1


def test_a_stagewise_p_is_the_share_of_all_paths() -> None:
    looks, uppers = [4, 8, 12], [4, 7, 9]
    count = 0
    for path in itertools.product((0, 1), repeat=12):
        for m, upper in zip(looks, uppers, strict=True):
            x = sum(path[:m])
            if m == 12:
                count += abs(2 * x - m) >= abs(2 * 8 - m)
            elif x >= upper or x <= m - upper:
                count += 1
                break
    found = stats.sequential_p_value(looks=looks, uppers=uppers, stopped_at=3, x=8)
    assert found.p == Fraction(count, 2**12)


def test_min_p_is_what_all_joint_flips_give() -> None:
    endpoints = [[3, 1, -4, 1, 5], [2, 6, 5, 3, 5], [1, -1, 1, -1, 2]]
    flipped = [
        [[s * d for s, d in zip(signs, one, strict=True)] for one in endpoints]
        for signs in itertools.product((1, -1), repeat=5)
    ]
    sums = [[abs(sum(one)) for one in sample] for sample in flipped]
    marginal = [
        [Fraction(sum(other[k] >= row[k] for other in sums), len(sums)) for k in range(3)]
        for row in sums
    ]
    raw = marginal[0]
    order = sorted(range(3), key=lambda k: raw[k])
    adjusted, highest = [ZERO] * 3, ZERO
    for step, k in enumerate(order):
        rest = order[step:]
        share = Fraction(sum(min(row[j] for j in rest) <= raw[k] for row in marginal), len(sums))
        adjusted[k] = highest = max(highest, share)
    found = stats.min_p(endpoints)
    assert (found.raw, found.adjusted) == (tuple(raw), tuple(adjusted))


def test_the_walsh_averages_are_all_pairwise_means() -> None:
    values = [Fraction(v) for v in (3, -1, 2, 5, 0, 4, 7)]
    walsh = sorted((a + b) / 2 for a, b in itertools.combinations_with_replacement(values, 2))
    found = stats.hodges_lehmann(values, level="0.9")
    assert found.estimate == walsh[len(walsh) // 2]
    missed = 1 - found.coverage
    w = [
        sum(rank for rank, sign in zip(range(1, 8), signs, strict=True) if sign)
        for signs in itertools.product((0, 1), repeat=7)
    ]
    k = walsh.index(found.lower) + 1
    assert missed == Fraction(2 * sum(value <= k - 1 for value in w), len(w))
    assert Fraction(2 * sum(value <= k for value in w), len(w)) > Fraction(1, 10)


def test_pass_at_k_is_the_share_of_all_choices_of_k_attempts() -> None:
    rows = [(5, 2), (4, 4), (6, 0), (5, 1)]
    shares = []
    for n, c in rows:
        choices = list(itertools.combinations([True] * c + [False] * (n - c), 3))
        shares.append((Fraction(sum(map(any, choices)), len(choices)),
                       Fraction(sum(map(all, choices)), len(choices))))  # fmt: skip
    assert stats.pass_at_k(rows, k=3).estimate == sum(s for s, _ in shares) / 4
    assert stats.pass_hat_k(rows, k=3).estimate == sum(s for _, s in shares) / 4


def test_a_stratified_p_is_the_share_of_all_assignments() -> None:
    """Attempts of each question dealt to the arms in all ways, successes kept."""
    strata = [(2, 3, 1, 2), (1, 2, 0, 3)]
    totals: dict[int, Fraction] = {0: ONE}
    for passed, tried, passed_control, tried_control in strata:
        successes = passed + passed_control
        outcomes = [1] * successes + [0] * (tried + tried_control - successes)
        deals = [sum(deal) for deal in itertools.combinations(outcomes, tried)]
        following: dict[int, Fraction] = {}
        for base, share in totals.items():
            for value in deals:
                at = base + value
                following[at] = following.get(at, ZERO) + share / len(deals)
        totals = following
    above = sum(share for value, share in totals.items() if value >= 3)
    assert stats.stratified_exact_test(strata, alternative="greater").p == above
    assert sum(binomial(3, HALF)) == 1
