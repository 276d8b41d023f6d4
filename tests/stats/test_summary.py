"""What a summary says, and what it refuses to say."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from fractions import Fraction

import pytest

from benchlib import stats
from benchlib.errors import InputError
from benchlib.stats import PairRow, PlannedEndpoint, SummaryPlan, summarize

SOLVED = PlannedEndpoint(name="solved", kind="outcome", family="conditional")
TOKENS = PlannedEndpoint(name="tokens", kind="measure", family="signed-rank")
PLAN = SummaryPlan(keys=(("k", 10),), endpoints=(SOLVED,))


def row(at: int, control: object = 0, treatment: object = 1, **changes: object) -> PairRow:
    values = {
        "pair": f"p{at}",
        "key": "k",
        "endpoint": "solved",
        "cluster": f"q{at}",
        "status": "admitted",
        "control": control,
        "treatment": treatment,
    }
    return PairRow(**{**values, **changes})


def gains(count: int, losses: int = 0, ties: int = 0) -> list[PairRow]:
    outcomes = [(0, 1)] * count + [(1, 0)] * losses + [(1, 1)] * ties
    return [row(at, *values) for at, values in enumerate(outcomes)]


def planned(**changes: object) -> SummaryPlan:
    return dataclasses.replace(PLAN, endpoints=(dataclasses.replace(SOLVED, **changes),))


def only_line(rows: list[PairRow], plan: SummaryPlan = PLAN, **how: object) -> stats.SummaryLine:
    (line,) = summarize(rows, plan=plan, **how).lines
    return line


def test_everything_that_began_is_counted_by_what_became_of_it() -> None:
    rows = [
        *gains(5),
        row(5, status="void", reason="engine-lost", arm="control", control=None),
        row(6, status="void", reason="premise-difference", arm="both"),
        row(7, status="excluded", reason="wrong-image"),
        row(8, status="interrupted", reason="crash", control=None, treatment=None),
        row(9, status="started", control=None, treatment=None),
    ]
    counts = only_line(rows).counts
    assert (counts.planned, counts.started, counts.admitted) == (10, 10, 5)
    assert (counts.void, counts.excluded, counts.interrupted, counts.undecided) == (2, 1, 1, 1)
    assert counts.voids_by_arm == (("control", 1), ("treatment", 0), ("both", 1), ("pair", 0))
    assert ("void", "engine-lost", "control", 1) in counts.reasons
    assert (counts.missing_control, counts.missing_treatment) == (3, 2)


def test_only_admitted_pairs_speak() -> None:
    losses = [row(at, 1, 0, status="excluded", reason="x") for at in range(6, 10)]
    line = only_line([*gains(6), *losses])
    assert (line.n, line.gained, line.lost) == (6, 6, 0)


def test_an_effect_is_said_with_its_p_the_least_p_and_the_interval_of_its_family() -> None:
    line = only_line(gains(8, ties=2))
    assert line.evidence is not None
    assert line.evidence.p == Fraction(1, 128)
    assert line.evidence.estimates == "odds of a gain among pairs that differ"
    assert line.sentence.startswith("differs, the treatment arm higher: p = 0.0079, least")
    assert (line.gained, line.lost, line.concordant) == (8, 0, 2)


def test_the_unconditional_family_prints_the_risk_difference() -> None:
    line = only_line(gains(9, 2, 30), planned(family="unconditional"))
    assert line.evidence is not None
    assert (line.evidence.procedure, line.evidence.estimates) == (
        "paired_unconditional_test",
        "risk difference",
    )
    assert line.evidence.lower is not None
    assert line.evidence.lower > 0
    assert "differs" in line.sentence


def test_no_evidence_is_never_worded_as_no_difference() -> None:
    sentence = only_line(gains(4, 3, 3)).sentence
    assert sentence.startswith("not shown to differ: p = 1.0000")
    assert "no difference" not in sentence


def test_a_cohort_that_cannot_reject_says_so() -> None:
    assert "unable to reject at this size" in only_line(gains(5)).sentence
    assert "unable to reject" not in only_line(gains(6)).sentence


@pytest.mark.parametrize("n", [1, 4])
def test_below_five_measured_pairs_a_line_is_exploratory_and_has_no_p(n: int) -> None:
    line = only_line(gains(n))
    assert (line.evidence, line.adjusted_p) == (None, None)
    assert line.sentence.startswith("exploratory")
    assert "p =" not in line.sentence


def test_pairs_that_all_agree_bound_the_discordance() -> None:
    line = only_line(gains(0, ties=10))
    assert line.discordance_bound == pytest.approx(1 - 0.025 ** (1 / 10), abs=1e-12)
    assert line.sentence.startswith("no discordant pairs: at most 0.3085 of pairs disagree")


def test_a_missing_arm_is_listed_and_bounds_the_difference() -> None:
    rows = [
        *gains(6, ties=2),
        row(8, 1, None, status="void", reason="timeout", arm="treatment"),
        row(9, None, 1, status="void", reason="timeout", arm="control"),
    ]
    line = only_line(rows)
    assert line.missing_pairs == ("p8", "p9")
    # 6 gains; at worst p8 is lost and p9 a tie, at best a tie and a gain.
    assert line.difference_if_missing == (Fraction(5, 10), Fraction(7, 10))
    assert "put the difference between 0.5000 and 0.7000" in line.sentence


def test_adjusted_ps_count_what_was_planned_and_not_what_was_reported() -> None:
    plan = SummaryPlan(keys=(("k", 10), ("later", 10)), endpoints=(SOLVED, TOKENS))
    summary = summarize(gains(8), plan=plan)
    (line,) = summary.lines
    assert summary.family_size == 4
    assert line.adjusted_p == Fraction(4, 128)
    assert summary.not_started == (("k", "tokens"), ("later", "solved"), ("later", "tokens"))


def test_a_p_that_the_family_takes_back_is_not_shown_to_differ() -> None:
    plan = dataclasses.replace(PLAN, keys=(("k", 10), ("a", 9), ("b", 9)))
    line = only_line(gains(7), plan)
    assert line.evidence is not None
    assert line.evidence.p == Fraction(1, 64)
    assert line.adjusted_p == Fraction(3, 64)
    sentence = only_line(gains(6), plan).sentence
    assert sentence.startswith("not shown to differ: p = 0.0313, adjusted 0.0938")


def test_keys_stand_on_lines_of_their_own() -> None:
    plan = dataclasses.replace(PLAN, keys=(("k", 6), ("other", 6)))
    rows = [*gains(6), *[row(at, key="other") for at in range(10, 16)]]
    assert [line.key for line in summarize(rows, plan=plan).lines] == ["k", "other"]


def test_the_order_of_rows_changes_nothing() -> None:
    rows = gains(5, 2, 3)
    assert summarize(rows[::-1], plan=PLAN) == summarize(rows, plan=PLAN)


def test_equivalence_is_said_by_its_own_test_only() -> None:
    plan = planned(family="unconditional", question="equivalence", margin="0.2")
    line = only_line(gains(1, 1, 48), plan)
    assert line.sentence.startswith("equivalent within the planned margin: p = ")
    assert "90 % interval" in line.sentence
    few = only_line(gains(1, 1, 8), plan)
    assert few.sentence.startswith("not shown to be so: equivalent within the planned margin")


def test_harmlessness_is_said_by_its_own_test_only() -> None:
    plan = planned(family="unconditional", question="noninferiority", margin="0.1")
    assert only_line(gains(0, ties=29), plan).evidence is not None
    assert "loses less than the planned margin: p = 0.0487, least" in only_line(
        gains(0, ties=29), plan
    ).sentence  # fmt: skip
    assert "not shown to be so" in only_line(gains(0, ties=28), plan).sentence


@pytest.mark.parametrize("family", ["permutation", "signed-rank", "sign", "clusters"])
def test_a_measure_is_tested_by_its_planned_family(family: str) -> None:
    plan = dataclasses.replace(PLAN, endpoints=(dataclasses.replace(TOKENS, family=family),))
    rows = [row(at, 100 + at, 50 - at, endpoint="tokens") for at in range(7)]
    line = only_line(rows, plan)
    assert line.evidence is not None
    assert line.evidence.p == Fraction(1, 64)
    assert line.sentence.startswith("differs, the treatment arm lower")


def repeated(questions: int, attempts: int) -> list[PairRow]:
    return [row(at, cluster=f"q{at % questions}") for at in range(questions * attempts)]


def test_repeated_questions_are_clusters() -> None:
    line = only_line(repeated(6, 3), planned(family="clusters"))
    assert line.evidence is not None
    assert (line.questions, line.n, line.evidence.p) == (6, 18, Fraction(1, 32))
    assert only_line(repeated(4, 5), planned(family="clusters")).evidence is None


def test_a_claim_about_these_questions_is_stratified() -> None:
    line = only_line(repeated(5, 2), planned(family="strata", claim="these-questions"))
    assert line.evidence is not None
    assert line.evidence.estimate == 1
    assert "risk difference over these questions 1.0000" in line.sentence


def test_attempts_at_one_single_question_may_be_paired_for_a_claim_about_it() -> None:
    line = only_line(repeated(1, 6), planned(claim="these-questions"))
    assert line.evidence is not None
    assert line.evidence.p == Fraction(1, 32)


LOOKS = {"looks": (6, 12), "spend": ("0.7", "1")}


def test_a_planned_look_gets_the_p_of_its_plan() -> None:
    line = only_line(gains(6), planned(**LOOKS), look=6)
    assert line.evidence is not None
    assert line.evidence.procedure == "sequential_p_value"
    assert line.evidence.p == Fraction(1, 32)


def test_a_look_that_crosses_no_bound_has_no_p_and_goes_on() -> None:
    line = only_line(gains(5, 1), planned(**LOOKS), look=6)
    assert line.adjusted_p is None
    assert "go on to the next" in line.sentence
    last = only_line(gains(9, 3), planned(**LOOKS), look=12)
    assert last.adjusted_p is not None


def test_an_unplanned_stop_gets_the_evalue_or_no_p() -> None:
    line = only_line(gains(9, 2), stop="unplanned")
    assert line.evidence is not None
    assert (line.evidence.procedure, line.evidence.p) == ("evalue", Fraction(165, 512))
    plan = dataclasses.replace(PLAN, endpoints=(TOKENS,))
    rows = [row(at, 9, 5 + at, endpoint="tokens") for at in range(7)]
    measured = only_line(rows, plan, stop="unplanned")
    assert measured.evidence is None
    assert measured.sentence.startswith("stopped at an unplanned moment: no test")


Refused = tuple[str, str, Callable[[], object]]
REFUSED: list[Refused] = [
    ("a level given as 95", "level",
     lambda: summarize(gains(5), plan=dataclasses.replace(PLAN, level=95))),
    ("an endpoint absent from the plan", "pairs[0].endpoint",
     lambda: summarize([row(0, endpoint="cost")], plan=PLAN)),
    ("a key absent from the plan", "pairs[0].key",
     lambda: summarize([row(0, key="x")], plan=PLAN)),
    ("a family that does not exist", "plan.endpoints[0].family",
     lambda: summarize(gains(5), plan=planned(family="wald"))),
    ("equivalence without a margin", "plan.endpoints[0].margin",
     lambda: summarize(
         gains(5), plan=planned(family="unconditional", question="equivalence"))),
    ("equivalence in the conditional family", "plan.endpoints[0].family",
     lambda: summarize(gains(5), plan=planned(question="equivalence", margin="0.1"))),
    ("a margin of 0", "plan.endpoints[0].margin",
     lambda: summarize(
         gains(5), plan=planned(family="unconditional", question="equivalence", margin=0))),
    ("a look that was not planned", "look", lambda: summarize(gains(6), plan=PLAN, look=6)),
    ("a plan with looks and none named", "look",
     lambda: summarize(gains(6), plan=planned(**LOOKS))),
    ("a look before its count", "look",
     lambda: summarize(gains(5), plan=planned(**LOOKS), look=6)),
    ("looks outside the conditional family", "plan.endpoints[0].looks",
     lambda: summarize(gains(6), plan=planned(family="unconditional", looks=(6,)))),
    ("no pair", "pairs", lambda: summarize([], plan=PLAN)),
    ("no admitted pair", "pairs",
     lambda: summarize([row(0, status="void", reason="x")], plan=PLAN)),
    ("no pair with both arms", "pairs", lambda: summarize([row(0, None, 1)], plan=PLAN)),
    ("an admitted pair without arms", "pairs[0].control",
     lambda: summarize([row(0, None, None)], plan=PLAN)),
    ("a run that was not admitted", "pairs[5].status",
     lambda: summarize([*gains(5), row(5, status="started")], plan=PLAN)),
    ("a void without a reason", "pairs[0].reason",
     lambda: summarize([row(0, status="void")], plan=PLAN)),
    ("an unknown status", "pairs[0].status",
     lambda: summarize([row(0, status="completed")], plan=PLAN)),
    ("an unknown arm", "pairs[0].arm", lambda: summarize([row(0, arm="left")], plan=PLAN)),
    ("a pair that stands twice", "pairs[1].pair",
     lambda: summarize([row(0), row(0)], plan=PLAN)),
    ("a pair under two keys", "pairs[1].key",
     lambda: summarize(
         [row(0), row(0, key="b")], plan=dataclasses.replace(PLAN, keys=(("k", 9), ("b", 9))))),
    ("an outcome of 2", "pairs[0].treatment", lambda: summarize([row(0, 0, 2)], plan=PLAN)),
    ("an outcome of one half", "pairs[0].control",
     lambda: summarize([row(0, "0.5", 1)], plan=PLAN)),
    ("a measure that is a truth value", "pairs[0].control",
     lambda: summarize(
         [row(0, True, 1, endpoint="tokens")],
         plan=dataclasses.replace(PLAN, endpoints=(TOKENS,)))),
    ("attempts taken for pairs", "plan.endpoints.family",
     lambda: summarize(repeated(3, 3), plan=PLAN)),
    ("one question taken for many", "plan.endpoints.family",
     lambda: summarize(repeated(1, 6), plan=PLAN)),
    ("clusters for a claim about these questions", "plan.endpoints.family",
     lambda: summarize(
         repeated(6, 2), plan=planned(family="clusters", claim="these-questions"))),
    ("an endpoint planned twice", "plan.endpoints",
     lambda: summarize(gains(5), plan=dataclasses.replace(PLAN, endpoints=(SOLVED, SOLVED)))),
    ("a key planned twice", "plan.keys",
     lambda: summarize(gains(5), plan=dataclasses.replace(PLAN, keys=(("k", 1), ("k", 2))))),
    ("no planned pair", "plan.keys[0]",
     lambda: summarize(gains(5), plan=dataclasses.replace(PLAN, keys=(("k", 0),)))),
    ("an unknown stop", "stop", lambda: summarize(gains(5), plan=PLAN, stop="money")),
    ("a share that is no probability", "plan.endpoints[0].spend[0]",
     lambda: summarize(gains(6), plan=planned(looks=(6,), spend=("1.5",)), look=6)),
]  # fmt: skip


@pytest.mark.parametrize(("field", "call"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_what_may_not_be_said_is_refused_by_name(field: str, call: Callable[[], object]) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert (caught.value.place, caught.value.field) == ("summarize", field)
    assert caught.value.exit_status == 2
