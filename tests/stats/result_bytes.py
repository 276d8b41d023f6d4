"""Print every result of the reference cases as bytes that have one form only.

A program of its own, for `test_bytes` runs it under other hash seeds, locales, decimal
contexts and interpreters; it needs nothing but the package and this folder on the path.
With an argument it sets that locale first.
"""

from __future__ import annotations

import decimal
import locale
import sys

from stats.reference_cases import Case, read_cases

from benchlib import stats

# The dearest tenth of the cases would take most of the time and show nothing else.
DEAR = {("binomial_interval", 5_000), ("paired_difference_interval", 60)}


def is_dear(case: Case) -> bool:
    size = case.args.get("n", 0)
    return any(case.procedure == name and int(str(size)) > most for name, most in DEAR)


def lines() -> list[str]:
    """Return one line for each case, and one for what has no case."""
    found = []
    for case in read_cases():
        if case.error is None and not is_dear(case):
            result = case.call()
            text = result if isinstance(result, str) else result.canonical_json()
            found.append(f"{case.id} {text}")
    plan = stats.plan_size(difference="0.3", price="1.25")
    return [*found, plan.canonical_json(), plan.in_words(), cohort().canonical_json()]


def cohort() -> stats.Summary:
    """Return the summary of a small cohort with something of everything."""
    endpoints = (
        stats.PlannedEndpoint(name="solved", kind="outcome", family="unconditional"),
        stats.PlannedEndpoint(name="tokens", kind="measure", family="signed-rank"),
    )
    plan = stats.SummaryPlan(keys=(("a", 9), ("b", 9)), endpoints=endpoints)
    rows = []
    for at in range(9):
        is_void = at == 8
        shared = {"pair": f"p{at}", "key": "a", "cluster": f"q{at}"}
        ended = {"status": "void", "reason": "engine-lost", "arm": "control"}
        status = ended if is_void else {"status": "admitted"}
        rows += [
            stats.PairRow(
                **shared,
                **status,
                endpoint="solved",
                control=None if is_void else at % 3 == 0,
                treatment=True,
            ),
            stats.PairRow(
                **shared, **status, endpoint="tokens", control=100 * at, treatment=90 * at + 7
            ),
        ]
    return stats.summarize(rows, plan=plan)


if __name__ == "__main__":
    decimal.getcontext().prec = 5
    if len(sys.argv) > 1:
        locale.setlocale(locale.LC_ALL, sys.argv[1])
    sys.stdout.buffer.write("\n".join([*lines(), ""]).encode())
