"""Write the tables of docs/statistics.md: cases agreed, coverage found, time to the referee.

    PYTHONPATH=.:tests python -m stats.statistics_page

measures everything (some minutes; or only the blocks that are named: cases, coverage,
speed) and rewrites what stands between the page's markers. The rest is written by hand.
`test_statistics_page` holds the table of cases against the code.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType

from stats.reference_cases import Case, distance, is_exactly, read_cases
from stats.test_coverage import least_difference_coverage, rate_coverage

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = REPOSITORY / "docs" / "statistics.md"

DEFINITIONS = {
    "binomial_interval": "both tails at (1 - level) / 2; mid-p and Blaker by name",
    "binomial_test": "tails of Bin(n, p0); doubling, minlike or Blaker",
    "mcnemar_test": "discordant pairs at one half",
    "discordant_odds_ratio": "limits of the share t, mapped by t / (1 - t)",
    "paired_unconditional_test": "supremum over the discordance, score statistic",
    "paired_difference_interval": "that test inverted, outermost crossing",
    "noninferiority_test": "one-sided unconditional p at -margin",
    "equivalence_test": "the larger of two one-sided p-values",
    "sign_test": "zeros set aside, then McNemar",
    "median_interval": "two order statistics",
    "wilcoxon_signed_rank": "all sign patterns of the observed midranks",
    "hodges_lehmann": "Walsh averages, untied signed-rank distribution",
    "paired_permutation_test": "all sign patterns of the differences",
    "cluster_permutation_test": "all sign patterns of whole questions",
    "stratified_exact_test": "sum of hypergeometrics by convolution",
    "pass_at_k": "1 - C(n - c, k) / C(n, k), mean over questions",
    "pass_hat_k": "C(c, k) / C(n, k), mean over questions",
    "holm": "step-down, running maximum",
    "min_p": "joint sign flips, step-down",
    "mcnemar_power": "sum over all numbers of discordant pairs",
    "mcnemar_sample_size": "first size, and the one that stays",
    "smallest_detectable_difference": "power solved for the difference",
    "sequential_plan": "all paths to each look",
    "sequential_boundaries": "smallest bound within the share spent",
    "sequential_p_value": "stagewise ordering",
    "evalue": "2^m / ((m + 1) C(m, b))",
    "print_value": "p and upper limits up, lower limits down",
}


def agrees(case: Case) -> bool:
    """Tell whether a case is met, exactly where it is rational."""
    fields = case.fields()
    is_near = all(distance(fields[name], case.expect[name]) <= case.tol for name in case.expect)
    return is_near and all(
        is_exactly(fields[name], value)
        for name, value in case.exact.items()
        if not isinstance(fields[name], float)
    )


def cases_table() -> str:
    """Return procedure, definition, referees and cases agreed, as Markdown."""
    lines = ["| procedure | definition | outside referees | cases agreed |", "|---|---|---|---|"]
    cases = [case for case in read_cases() if case.error is None]
    for name, definition in DEFINITIONS.items():
        own = [case for case in cases if case.procedure == name]
        met = sum(agrees(case) for case in own)
        referees = sorted({referee for case in own for referee in case.outside_referees})
        shown = ", ".join(referees) or "none: the definition, enumerated"
        lines.append(f"| `{name}` | {definition} | {shown} | {met} of {len(own)} |")
    return "\n".join(lines)


def coverage_table() -> str:
    """Return the least coverage that enumeration finds, as Markdown."""
    rows: list[tuple[str, str, str, float]] = []
    for method, sizes in (("clopper-pearson", range(1, 61)), ("blaker", (5, 10, 20, 40, 60))):
        least = min(rate_coverage(n, "0.95", method) for n in sizes)
        rows.append((f"rate, {method}", f"n = {sizes[0]} to {sizes[-1]}", "0.95", least))
    rows += [
        (f"rate, mid-p, n = {n}", "not guaranteed", "0.95", rate_coverage(n, "0.95", "mid-p"))
        for n in (5, 20, 60)
    ]
    for n in (8, 14, 20):
        least = least_difference_coverage(n, "0.95")
        rows.append((f"risk difference, n = {n}", "41 x 41 grid", "0.95", least))
    lines = ["| interval | enumerated over | level | least coverage found |", "|---|---|---|---|"]
    lines += [f"| {what} | {where} | {level} | {least:.4f} |" for what, where, level, least in rows]
    return "\n".join(lines)


def speed_table() -> str:
    """Return the rows of the benchmark, as Markdown."""
    head = ["| task | time | referee | its time | ratio | target |", "|---|---|---|---|---|---|"]
    rows = _benchmark().rows()
    return "\n".join(
        [*head, *[f"| {w} | {o} | {r} | {t} | {x:.2g} | {y} |" for w, o, r, t, x, y in rows]]
    )


def _benchmark() -> ModuleType:
    path = REPOSITORY / "tests" / "benchmarks" / "stats_bench.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BLOCKS: dict[str, Callable[[], str]] = {
    "cases": cases_table,
    "coverage": coverage_table,
    "speed": speed_table,
}


def block(name: str) -> re.Pattern[str]:
    """Return what finds a generated block of the page, markers included."""
    return re.compile(rf"(<!-- {name} -->\n)(.*?)(\n<!-- /{name} -->)", re.DOTALL)


def write(names: Iterable[str]) -> None:
    """Measure, and rewrite these blocks of the page."""
    for name in names:
        table, text = BLOCKS[name](), PAGE.read_text(encoding="utf-8")
        rewritten = block(name).sub(lambda m, t=table: m[1] + t + m[3], text)
        PAGE.write_text(rewritten, encoding="utf-8")


if __name__ == "__main__":
    write(sys.argv[1:] or BLOCKS)
