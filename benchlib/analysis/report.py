"""The report: one HTML page that opens offline, made of tables that a plan emitted.

It computes no number. It says question, promise, what was done, what does not
count and why, and what the numbers do not say. The page holds no script and asks
for nothing: charts are pictures inside it, and its policy forbids the rest.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2
from markupsafe import Markup

from benchlib.analysis.charts import LETTERS, ChartFile, draw, outcome_matrix, pass_rates
from benchlib.analysis.execute import Execution
from benchlib.analysis.table_files import Cell, Table, shown
from benchlib.analysis.tables import ALL
from benchlib.analysis.views import visible
from benchlib.contracts.cohort import Cohort
from benchlib.contracts.files import write_atomically
from benchlib.errors import InputError, InWords

NEEDED = (
    "attempts",
    "pairs",
    "arms",
    "paired",
    "summary",
    "voids",
    "void_balance",
    "facts",
    "costs",
    "circumstances",
)
"""Tables that a report is made of; a plan that lacks one gets no report."""


@dataclass(frozen=True)
class Report:
    """What a report is made of.

    Args:
        cohort: The cohort's plan.
        cohort_place: Its folder as the reader would name it.
        execution: The run of the plan whose tables it shows.
        reasons: Reason codes in words.
        remarks: What the reader must know first, such as a journal that was cut off.
    """

    cohort: Cohort
    cohort_place: str
    execution: Execution
    reasons: Mapping[str, str]
    remarks: Sequence[str] = ()

    def table(self, name: str) -> Table:
        """Return a table of the execution."""
        return self.execution.tables[name]


def write_report(report: Report, path: Path) -> Path:
    """Write a report's page.

    Args:
        report: What it is made of.
        path: Where the page belongs.

    Returns:
        The same path.

    Raises:
        InputError: The plan did not emit a table that the report needs.
        OutsideError: The page can't be written.
    """
    write_atomically(path, render(report, cohort_charts(report.execution.tables)).encode())
    return path


def cohort_charts(tables: Mapping[str, Table]) -> list[ChartFile]:
    """Draw the charts of a cohort: for each comparison the outcomes and the pass rates.

    Args:
        tables: The plan's tables by id.

    Returns:
        The charts, each with the sentence that says what is to be seen.
    """
    charts = []
    for number, row in enumerate(_overall(tables["paired"]), start=1):
        name = str(row["comparison"])
        counts = (
            f"{row['gained']} gained, {row['lost']} lost, {row['both_passed']} both passed,"
            f" {row['both_failed']} both failed"
        )
        charts.append(
            draw(
                f"outcomes-{number}",
                f"Outcome of each pair of {visible(name)}: {LETTERS}",
                f"Outcomes of the pairs of {visible(name)}: {counts}. The data are in the table"
                " of each pair.",
                outcome_matrix(tables["pairs"], name),
            )
        )
        charts.append(
            draw(
                f"pass-rates-{number}",
                f"Pass rate of each arm with its exact interval: {visible(name)}",
                f"Pass rates of both arms of {visible(name)}, by challenge. The data are in the"
                " table of each arm.",
                pass_rates(tables["arms"], name),
            )
        )
    return charts


def _overall(paired: Table) -> list[dict[str, Cell]]:
    return [row for row in paired.records() if row["challenge"] == ALL]


def render(report: Report, charts: Sequence[ChartFile]) -> str:
    """Return the page; every text in it is escaped.

    Args:
        report: What it is made of.
        charts: The pictures that go into it.

    Raises:
        InputError: The plan did not emit a table that the report needs.
    """
    missing = [name for name in NEEDED if name not in report.execution.tables]
    if missing:
        raise InputError(
            report.execution.plan.place,
            "outputs",
            found=InWords(f"no table {', '.join(missing)}"),
            allowed=f"a plan that emits {', '.join(NEEDED)}",
            next_step="emit the table, or write a report of your own",
        )
    execution = report.execution
    return _template().render(
        title=report.cohort.title,
        cohort=report.cohort,
        cohort_place=report.cohort_place,
        is_scripted=report.cohort.model.kind == "scripted",
        warnings=[*report.remarks, *_imbalances(report)],
        answers=list(_answers(report)),
        promise=list(_promise(report)),
        done=list(_done(report)),
        exclusions=list(_exclusions(report)),
        limits=list(_limits(report)),
        tables=execution.tables,
        charts=charts,
        plan=execution.plan,
        network=_network(execution),
        other_versions=execution.record.other_versions,
        digests=[entry for entry in execution.index.tables if entry.status == "promised"],
    )


def _template() -> jinja2.Template:
    loader = jinja2.FileSystemLoader(Path(__file__).parent)
    environment = jinja2.Environment(
        loader=loader,
        autoescape=True,
        finalize=_seen,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters["shown"] = shown
    environment.filters["base64"] = lambda text: Markup(base64.b64encode(text.encode()).decode())  # noqa: S704 - base64 holds no markup
    return environment.get_template("report.html.j2")


def _seen(value: object) -> object:
    """Show every character of every text that the page holds; markup of our own stays."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _answers(report: Report) -> Iterator[str]:
    """Yield the counts of each comparison, then what may be said of each planned claim."""
    for row in _overall(report.table("paired")):
        name, pairs = row["comparison"], _whole(row["pairs"])
        if pairs == 0:
            yield f"{name}: no pair has an outcome, so nothing can be said."
            continue
        yield (
            f"{name}: of {pairs} pairs, {row['gained']} were gained (the treatment arm alone"
            f" passed) and {row['lost']} lost (the control arm alone passed)."
        )
    lines = report.table("summary").records()
    for endpoint in report.cohort.analysis.endpoints:
        for row in lines:
            if row["endpoint"] == endpoint.id and _whole(row["admitted"]):
                about = "" if row["challenge"] == ALL else f", {row['challenge']}"
                yield f"{endpoint.id}, {row['comparison']}{about}: {row['reading']}"


def _whole(cell: Cell) -> int:
    return cell if isinstance(cell, int) else 0


def _promise(report: Report) -> Iterator[str]:
    cohort = report.cohort
    kinds = ", ".join(cohort.challenges)
    yield f"{len(cohort.pairs)} pairs on {len(cohort.challenges)} challenges ({kinds})."
    for condition in cohort.conditions:
        memory = condition.memory
        if memory is None:
            yield f"Condition {condition.id}: nothing is restored and no memory tool is shown."
        else:
            channels = ", ".join(memory.channels)
            yield f"Condition {condition.id}: memory {memory.graph_arm}, reached by {channels}."
    yield f"Model {cohort.model.name} ({cohort.model.kind}), agent {cohort.agent.adapter}."
    yield f"Memory system under test: {cohort.provisioner.name} {cohort.provisioner.build}."
    yield (
        "The latest valid attempt at each pair counts; a void pair leaves the paired table with"
        " both its arms and stays in the table of what does not count."
    )
    for endpoint in cohort.analysis.endpoints:
        where = "each of" if endpoint.lines == "per-challenge" else "all of"
        margin = f", margin {endpoint.margin_ppm} parts per million" if endpoint.margin_ppm else ""
        yield (
            f"Claim {endpoint.id}: {endpoint.hypothesis} ({endpoint.question}{margin}, family"
            f" {endpoint.family}, {where} {', '.join(endpoint.challenges)})"
        )
    level = f"alpha {cohort.analysis.alpha_ppm} parts per million"
    yield f"Exact tests and intervals, {level}; each output table was declared before the run."


def _done(report: Report) -> Iterator[str]:
    states: dict[str, int] = {}
    for row in report.table("attempts").records():
        name = str(row["state"])
        states[name] = states.get(name, 0) + _whole(row["count"])
    yield (
        f"Of {states.get('pairs-planned', 0)} planned pairs {states.get('pairs-started', 0)} were"
        f" started and {states.get('pairs-with-outcome', 0)} have an outcome."
    )
    void = states.get("attempts-void", 0)
    stopped = states.get("attempts-interrupted", 0) + states.get("attempts-open", 0)
    yield (
        f"{states.get('attempts-started', 0)} attempts were started: {void} void, {stopped}"
        f" interrupted or without a receipt, {states.get('attempts-superseded', 0)} superseded."
    )
    for row in report.table("circumstances").records():
        yield (
            f"{row['arms']} arms ran with model {row['model']} ({row['model_kind']}), isolation:"
            f" {_isolation(str(row['isolation']))}."
        )


def _isolation(word: str) -> str:
    return {
        "container": "a container",
        "namespace": "namespaces of this machine",
        "none": "none, an arm was a plain process",
    }.get(word, word)


def _imbalances(report: Report) -> Iterator[str]:
    for row in report.table("void_balance").records():
        if not row["is_balanced"]:
            yield (
                f"{row['comparison']}: attempts were lost unequally, {row['lost_to_treatment']} to"
                f" the treatment arm and {row['lost_to_control']} to the control arm. That alone"
                " may bias the outcome."
            )


def _exclusions(report: Report) -> Iterator[str]:
    voids = report.table("voids").records()
    if not voids:
        yield "Every started attempt has an outcome."
    for reason in sorted({str(row["reason"]) for row in voids}):
        count = sum(_whole(row["attempts"]) for row in voids if row["reason"] == reason)
        words = report.reasons.get(reason)
        yield f"{reason} ({count}): {words}" if words else f"{reason} ({count})"


def _limits(report: Report) -> Iterator[str]:
    questions = len(report.cohort.challenges)
    yield f"The claim is about these {questions} questions; more attempts at them do not widen it."
    if report.cohort.model.kind == "scripted":
        yield "No language model took part; the policy would act the same on every run."
    weak = [row for row in report.table("circumstances").records() if row["isolation"] == "none"]
    if weak:
        yield "Some arms ran without isolation: they could reach what their user can reach."
    yield "That memory was delivered or used does not show that it caused the outcome."
    yield "An arm's cost is counted in tokens and wall time; nothing here is a price."


def _network(execution: Execution) -> str:
    return {
        "isolated": "its kernel had no network (namespaces)",
        "guarded": "held by a guard in the interpreter alone, which determined code can pass",
    }[execution.record.network]
