"""The reference cases, and how their notation is spoken here.

The case file names arguments and fields as formulas do (b, c, k, n); the package names
them as the benchmark does. This table is the whole translation.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from benchlib import stats

CASES = Path(__file__).parent / "cases" / "stats_cases.json"

_PAIRED = {"b": "gained", "c": "lost", "n": "pairs"}
_POWER = {"p_b": "p_gained", "p_c": "p_lost", "n": "pairs"}
_RATE = {"k": "successes", "n": "attempts"}
ARGUMENTS: dict[str, dict[str, str]] = {
    "binomial_interval": _RATE,
    "binomial_test": _RATE,
    "mcnemar_test": _PAIRED,
    "discordant_odds_ratio": _PAIRED,
    "paired_unconditional_test": _PAIRED,
    "paired_difference_interval": _PAIRED,
    "noninferiority_test": _PAIRED,
    "equivalence_test": _PAIRED,
    "evalue": _PAIRED,
    "mcnemar_power": _POWER,
    "mcnemar_sample_size": _POWER,
    "smallest_detectable_difference": _POWER,
}
FIELDS: dict[tuple[str, str], str] = {
    ("paired_permutation_test", "mean"): "estimate",
    ("pass_at_k", "value"): "estimate",
    ("pass_hat_k", "value"): "estimate",
    ("sequential_boundaries", "upper"): "upper_bounds",
}
POSITIONAL = {"value", "diffs", "values", "clusters", "strata", "attempts", "p_values", "endpoints"}


@dataclass(frozen=True)
class Case:
    """One row of the case file."""

    id: str
    procedure: str
    args: dict[str, object]
    expect: dict[str, object]
    exact: dict[str, object]
    tol: float
    error: str | None
    outside_referees: tuple[str, ...]
    published: dict[str, str]

    def argument(self, name: str) -> str:
        return ARGUMENTS.get(self.procedure, {}).get(name, name)

    def call(self) -> object:
        named = {self.argument(name): value for name, value in self.args.items()}
        first = [named.pop(name) for name in list(named) if self._is_positional(name)]
        return getattr(stats, self.procedure)(*first, **named)

    def _is_positional(self, name: str) -> bool:
        return name in POSITIONAL and self.procedure not in {"binomial_interval", "binomial_test"}

    def fields(self) -> dict[str, object]:
        result = self.call()
        if isinstance(result, str):
            return {"text": result}
        names = {name: FIELDS.get((self.procedure, name), name) for name in self.expect}
        return {name: getattr(result, field) for name, field in names.items()}


# What the referee is, without version and call: "scipy 1.17.1 binomtest" is scipy. Others,
# such as an enumeration, are the definition itself.
_OUTSIDE = re.compile(r"scipy|statsmodels|R \w+")


def _outside(referees: list[dict[str, object]]) -> list[str]:
    found = [_OUTSIDE.match(str(r["referee"])) for r in referees if isinstance(r, dict)]
    return [match[0] for match in found if match]


def read_cases() -> list[Case]:
    """Return all cases in the file's order."""
    return [
        Case(
            id=row["id"],
            procedure=row["procedure"],
            args=row["args"],
            expect=row.get("expect", {}),
            exact=row.get("exact", {}),
            tol=row.get("tol", 0.0),
            error=row.get("error"),
            outside_referees=tuple(dict.fromkeys(_outside(row["referees"]))),
            published=row.get("published", {}),
        )
        for row in json.loads(CASES.read_text(encoding="utf-8"))["cases"]
    ]


def distance(found: object, expected: object) -> float:
    """Return how far a value is from the text that the case states."""
    if isinstance(found, tuple) and isinstance(expected, list):
        assert len(found) == len(expected)
        return max((distance(*pair) for pair in zip(found, expected, strict=True)), default=0.0)
    if found is None or expected is None or isinstance(found, str):
        return 0.0 if found == expected else float("inf")
    if str(expected) in {"inf", "-inf"}:
        return 0.0 if found == float(str(expected)) else float("inf")
    assert isinstance(found, int | float | Fraction)
    return float(abs(Fraction(found) - Fraction(str(expected))))


def is_exactly(found: object, expected: object) -> bool:
    """Tell whether a rational value is the fraction that the case states."""
    if isinstance(found, tuple) and isinstance(expected, list):
        pairs = zip(found, expected, strict=True)
        return len(found) == len(expected) and all(is_exactly(*pair) for pair in pairs)
    if found is None or expected is None:
        return found is expected
    return isinstance(found, int | Fraction) and found == Fraction(str(expected))
