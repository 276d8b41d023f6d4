"""Pages in a real browser: offline, quiet, and deaf to what a log would have them do."""

from __future__ import annotations

import dataclasses
import itertools
import json
from pathlib import Path

import altair as alt
import pytest
from analysis.support import ReceiptsBuilder, executed, make_cohort, planned, trajectory
from browser.conftest import Tab

from benchlib.analysis import views
from benchlib.analysis.report import Report, cohort_charts, write_report
from benchlib.analysis.table_files import Table
from benchlib.contracts.trajectory import Step

pytestmark = pytest.mark.browser

CASES = Path(__file__).parents[1] / "cases" / "notebooks"
LINES = (CASES / "hostile_values.jsonl").read_text().split("\n")
HOSTILE = [json.loads(line)["text"] for line in LINES if line]
EVERYTHING = " ".join(HOSTILE)


@pytest.fixture
def report(tmp_path: Path) -> Report:
    """A report of six pairs on six questions."""
    pairs = tuple(planned(f"p{number}", f"question-{number}") for number in range(6))
    builder = ReceiptsBuilder(tmp_path / "in", make_cohort(pairs))
    for pair in pairs:
        builder.outcome(pair, 0, 1)
    return Report(builder.cohort, "cohorts/demo/v1", executed(builder, tmp_path / "out"), {})


def spoiled(table: Table) -> Table:
    texts = itertools.cycle(HOSTILE)
    rows = tuple(
        tuple(
            next(texts) if column.type == "text" and cell != "(all)" else cell
            for cell, column in zip(row, table.columns, strict=True)
        )
        for row in table.rows
    )
    return table.model_copy(update={"rows": rows, "title": EVERYTHING})


def test_the_report_opens_offline_and_says_nothing_on_the_console(
    tab: Tab, report: Report, tmp_path: Path
) -> None:
    tab.open(write_report(report, tmp_path / "report.html"))
    assert tab.driver.title == report.cohort.title
    assert tab.complaints() == []
    widths = tab.run("return [...document.images].map(image => image.naturalWidth)")
    assert isinstance(widths, list)
    assert len(widths) == 2
    assert all(width > 100 for width in widths)
    assert (
        tab.run("return performance.getEntriesByType('resource').length") == 0
    )  # nothing was fetched


@pytest.mark.parametrize("width", [360, 1000])
def test_the_report_is_never_scrolled_sideways(
    tab: Tab, report: Report, tmp_path: Path, width: int
) -> None:
    path = write_report(report, tmp_path / "report.html")
    frame = tmp_path / "frame.html"  # a window can't be made as narrow as a phone; a frame can
    frame.write_text(f'<title>frame</title><iframe src="{path.name}" width="{width}" height="800">')
    tab.open(frame)
    tab.driver.switch_to.frame(0)
    beyond = tab.run("return document.documentElement.scrollWidth - window.innerWidth")
    assert isinstance(beyond, int)
    assert beyond <= 0


def test_wide_tables_are_reached_by_keyboard(tab: Tab, report: Report, tmp_path: Path) -> None:
    tab.open(write_report(report, tmp_path / "report.html"))
    unreachable = (
        "return [...document.querySelectorAll('table')]"
        ".filter(table => table.parentElement.tabIndex !== 0).length"
    )
    assert tab.run(unreachable) == 0


def test_a_hostile_cohort_changes_no_title_and_runs_nothing(
    tab: Tab, report: Report, tmp_path: Path
) -> None:
    tables = {name: spoiled(table) for name, table in report.execution.tables.items()}
    execution = dataclasses.replace(report.execution, tables=tables)
    cohort = report.cohort.model_copy(update={"question": EVERYTHING})
    reasons = {"provider-failed": EVERYTHING}
    tab.open(
        write_report(Report(cohort, EVERYTHING, execution, reasons, HOSTILE), tmp_path / "r.html")
    )
    assert tab.driver.title == report.cohort.title
    assert tab.complaints() == []
    assert "<script>document.title='PWNED'</script>" in str(
        tab.run("return document.body.innerText")
    )
    assert len(cohort_charts(tables)) == 2


def test_a_hostile_trajectory_changes_no_title_and_runs_nothing(tab: Tab, tmp_path: Path) -> None:
    pair = planned("p1")
    builder = ReceiptsBuilder(tmp_path / "in", make_cohort((pair,)))
    session = trajectory(builder.arm(pair, "a1", "treatment", reward=1), EVERYTHING)
    more = tuple(
        Step(step_id=number, source="system", message=text)
        for number, text in enumerate(HOSTILE, start=len(session.steps) + 1)
    )
    shown = views.trajectory_view(session.model_copy(update={"steps": session.steps + more}))
    page = tmp_path / "view.html"
    page.write_text(f"<!doctype html><meta charset=utf-8><title>quiet</title>{shown.text}")
    tab.open(page)
    assert tab.driver.title == "quiet"
    assert tab.complaints() == []
    assert "PWNED" in str(tab.run("return document.body.innerText"))


def test_these_checks_can_fail(tab: Tab, tmp_path: Path) -> None:
    """The page that a chart library writes by itself runs the log's script."""
    values = [{"a": 1, "b": text} for text in HOSTILE]
    chart = alt.Chart(alt.InlineData(values=values)).mark_point().encode(x="a:Q", y="b:N")
    page = tmp_path / "chart.html"
    page.write_text(chart.to_html(inline=True))
    tab.open(page)
    assert tab.driver.title == "PWNED"
