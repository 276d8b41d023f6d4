"""The report: sentences, tables and pictures on one page that asks for nothing."""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest
from analysis.support import ReceiptsBuilder, executed, make_cohort, planned

from benchlib.analysis.charts import draw, outcome_matrix, pass_rates
from benchlib.analysis.declarations import Column
from benchlib.analysis.report import Report, cohort_charts, render, write_report
from benchlib.analysis.table_files import Table
from benchlib.errors import InputError

CASES = Path(__file__).parents[1] / "cases" / "notebooks"
LINES = (CASES / "hostile_values.jsonl").read_text().split("\n")
HOSTILE = [json.loads(line)["text"] for line in LINES if line]
REASONS = {"provider-failed": "the model's side failed"}


class Page(HTMLParser):
    """What a browser would take a page for."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


@pytest.fixture
def report(demo: ReceiptsBuilder, tmp_path: Path) -> Report:
    made = executed(demo, tmp_path / "out")
    return Report(demo.cohort, "cohorts/demo/v1", made, REASONS, ("the journal was cut off",))


def page(report: Report) -> Page:
    return Page(render(report, cohort_charts(report.execution.tables)))


def test_the_report_says_what_a_reader_must_know(report: Report) -> None:
    text = page(report).text
    for words in (
        "a scripted policy and no language model",
        "Does the memory change which tasks the agent solves?",
        "populated against none: of 6 pairs, 6 were gained (the treatment arm alone passed)",
        "solved, populated against none: exploratory: fewer than five measured",
        "Claim solved: Memory changes which tasks are solved.",
        "empty against none: of 6 pairs, 0 were gained",
        "12 pairs on 2 challenges",
        "Of 12 planned pairs 12 were started and 12 have an outcome.",
        "13 attempts were started: 1 void",
        "provider-failed (1): the model's side failed",
        "attempts were lost unequally, 1 to the treatment arm and 0 to the control arm",
        "isolation: namespaces of this machine",
        "the journal was cut off",
        "benchlib analyze cohorts/demo/v1",
        report.execution.plan.plan_sha256,
    ):
        assert words in text, words
    assert "no difference" not in text


def test_the_page_asks_for_nothing_and_runs_nothing(report: Report) -> None:
    made = page(report)
    assert not made.all("script")
    assert not made.all("link")
    assert all(str(one["src"]).startswith("data:image/svg+xml;base64,") for one in made.all("img"))
    policy = next(one for one in made.all("meta") if one.get("http-equiv"))
    assert policy["content"] == "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    assert not any(name.startswith("on") for _, attributes in made.elements for name in attributes)


def test_the_page_can_be_read_without_seeing_it(report: Report) -> None:
    made = page(report)
    assert made.all("html") == [{"lang": "en"}]
    levels = [int(tag[1]) for tag, _ in made.elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in itertools.pairwise(levels))
    assert len(made.all("caption")) == len(made.all("table"))
    assert all(one.get("scope") in {"col", "row"} for one in made.all("th"))
    assert all(len(str(one["alt"])) > 20 for one in made.all("img"))
    assert len(made.all("img")) == 4


def hostile(table: Table) -> Table:
    """Put a hostile text into every text cell of a table, each in turn."""
    texts = itertools.cycle(HOSTILE)
    filled = [
        tuple(
            next(texts) if column.type == "text" and cell != "(all)" else cell
            for cell, column in zip(row, table.columns, strict=True)
        )
        for row in table.rows * 3
    ]
    return table.model_copy(update={"rows": tuple(filled), "title": HOSTILE[0]})


def spoiled(report: Report) -> Report:
    """Return a report whose every text says something else than it should."""
    everything = " ".join(HOSTILE)
    cohort = report.cohort.model_copy(update={"title": everything, "question": everything})
    execution = dataclasses.replace(
        report.execution,
        tables={name: hostile(table) for name, table in report.execution.tables.items()},
        plan=dataclasses.replace(report.execution.plan, place=everything),
    )
    return Report(cohort, everything, execution, {"provider-failed": everything}, HOSTILE)


def test_hostile_text_is_seen_as_text(report: Report) -> None:
    made, clean = page(spoiled(report)), page(report)
    assert {tag for tag, _ in made.elements} <= {tag for tag, _ in clean.elements} | {"p"}
    assert not made.all("script")
    assert "document.title='PWNED'" in made.text
    assert not {"\x1b", "\u202e"} & set(made.text)


def test_a_chart_of_hostile_text_holds_it_as_text() -> None:
    columns = (
        Column(name="comparison", type="text"),
        Column(name="challenge", type="text"),
        Column(name="outcome", type="code", nullable=True),
    )
    rows = tuple(("a", text, "gained") for text in [*HOSTILE, "\x00\uffff", "a" * 9999])
    table = Table(
        id="pairs", title="", status="promised", columns=columns, rows=rows, plan_sha256="a" * 64
    )
    svg = draw("a", "a", "a", outcome_matrix(table, "a")).svg
    assert "<script" not in svg
    assert "onerror" not in re.sub(r">[^<]*<|\"[^\"]*\"", "", svg)
    assert "\\x1b[2J" in svg


def test_charts_are_the_same_bytes_on_each_call(report: Report) -> None:
    one, other = (cohort_charts(report.execution.tables) for _ in range(2))
    assert [(chart.spec, chart.svg) for chart in one] == [(c.spec, c.svg) for c in other]
    assert not any(b"http" in chart.spec.replace(b"https://vega.github.io", b"") for chart in one)


def test_a_chart_without_data_is_a_sentence(report: Report) -> None:
    tables = report.execution.tables
    assert "No pair was planned" in outcome_matrix(tables["pairs"], "nothing").to_json()
    assert "no rate to show" in pass_rates(tables["arms"], "nothing").to_json()


def test_a_cohort_in_which_nothing_was_run_reads_as_sentences(tmp_path: Path) -> None:
    builder = ReceiptsBuilder(tmp_path / "in", make_cohort((planned("p1"),)))
    shutil.rmtree(builder.root / "receipts")
    (builder.root / "receipts").mkdir()
    made = executed(builder, tmp_path / "out")
    text = page(Report(builder.cohort, "c", made, {})).text
    assert "no pair has an outcome, so nothing can be said" in text
    assert "Every started attempt has an outcome." in text
    assert not re.search(r"\b(nan|NaN|inf|None|NaT)\b", text)


def test_a_plan_that_lacks_a_table_gets_no_report(report: Report, tmp_path: Path) -> None:
    tables = {name: one for name, one in report.execution.tables.items() if name != "voids"}
    less = dataclasses.replace(
        report, execution=dataclasses.replace(report.execution, tables=tables)
    )
    with pytest.raises(InputError, match="voids"):
        write_report(less, tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


def test_a_report_is_written_whole(report: Report, tmp_path: Path) -> None:
    tables = report.execution.tables
    path = write_report(report, tmp_path / "deep" / "report.html")
    assert path.read_text() == render(report, cohort_charts(tables))
