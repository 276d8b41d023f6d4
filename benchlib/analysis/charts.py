"""Charts of published tables: altair in, an SVG out, and nothing fetched from anywhere.

A chart reads a table that a plan emitted and computes no number. Outcomes differ
by letter as well as by colour. An empty table gives a sentence, not an empty frame.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import altair as alt
import rfc8785
import vl_convert

from benchlib.analysis.table_files import Cell, Table
from benchlib.analysis.tables import ALL
from benchlib.analysis.views import delivered_items, visible
from benchlib.contracts.trajectory import Step, Trajectory

Chart = alt.Chart | alt.LayerChart | alt.FacetChart

MOST_MARKS = 2000
"""A chart with more marks than this says nothing to a reader; it is aggregated or refused."""

LONGEST_LABEL = 60
"""A text in a picture is cut to this many characters."""

_FONT = "sans-serif"
_ARM_COLOURS = ["#555555", "#1f5fa8"]
_OUTCOMES: Mapping[str, tuple[str, str]] = {  # letter and colour; told apart without colour too
    "gained": ("+", "#1b6e3c"),
    "lost": ("-", "#a3341f"),
    "both-passed": ("P", "#4a6fa5"),
    "both-failed": ("F", "#686868"),
    "none": ("void", "#ffffff"),
}
LETTERS = "+ gained, - lost, P both passed, F both failed"
"""What the letters of an outcome matrix mean."""


@dataclass(frozen=True)
class ChartFile:
    """A chart ready for a page.

    Args:
        id: Its name in files.
        title: What it shows.
        finding: One sentence that says what is to be seen; the alternative text.
        spec: The canonical Vega-Lite bytes that the picture was drawn from.
        svg: The picture.
    """

    id: str
    title: str
    finding: str
    spec: bytes
    svg: str


def draw(name: str, title: str, finding: str, chart: Chart) -> ChartFile:
    """Draw a chart to SVG without a browser or a network.

    Args:
        name: Its name in files.
        title: What it shows.
        finding: What is to be seen, in one sentence.
        chart: The chart.

    Returns:
        The chart with its specification; the digest is taken of that, for fonts make
        pictures differ between machines.
    """
    spec = chart.to_dict()
    return ChartFile(name, title, finding, rfc8785.dumps(spec), vl_convert.vegalite_to_svg(spec))


def label(cell: Cell) -> str:
    """Return a cell as a text that may stand in a picture.

    A control character in a text makes the drawing library end the whole process, and a
    picture of a long text shows nothing else; so characters are escaped and texts cut.
    """
    text = visible(str(cell)).replace("\n", "\\n").replace("\t", "\\t")
    return text if len(text) <= LONGEST_LABEL else f"{text[:LONGEST_LABEL]}…"


def outcome_matrix(pairs: Table, comparison: str) -> Chart:
    """Show the outcome of each pair: challenges downwards, their pairs to the right.

    Args:
        pairs: The table ``pairs``.
        comparison: Which comparison to show.

    Returns:
        The chart; a sentence where the comparison has no pair.
    """
    rows = [row for row in pairs.records() if row["comparison"] == comparison][:MOST_MARKS]
    if not rows:
        return sentence("No pair was planned for this comparison.")
    values = []
    seen: dict[Cell, int] = {}
    for row in rows:
        seen[row["challenge"]] = seen.get(row["challenge"], 0) + 1
        outcome = str(row["outcome"] or "none")
        values.append(
            {
                "challenge": label(row["challenge"]),
                "number": seen[row["challenge"]],
                "outcome": outcome,
                "letter": _OUTCOMES[outcome][0],
            }
        )
    return _matrix(values)


def _matrix(values: Sequence[Mapping[str, object]]) -> Chart:
    domain = list(_OUTCOMES)
    colours = [colour for _, colour in _OUTCOMES.values()]
    base = alt.Chart(alt.InlineData(values=[dict(value) for value in values])).encode(
        x=alt.X("number:O", title="pair", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("challenge:N", title=None, sort=None),
    )
    cells = base.mark_rect(stroke="#444444").encode(
        color=alt.Color("outcome:N", title="outcome", scale=alt.Scale(domain=domain, range=colours))
    )
    letters = base.mark_text(fontWeight="bold").encode(
        text="letter:N",
        color=alt.condition(
            alt.datum.outcome == "none", alt.value("#000000"), alt.value("#ffffff")
        ),
    )
    return _styled(alt.layer(cells, letters))


def pass_rates(arms: Table, comparison: str) -> Chart:
    """Show each arm's passes over attempts with the exact interval, by challenge.

    Args:
        arms: The table ``arms``.
        comparison: Which comparison to show.

    Returns:
        The chart; a sentence where no attempt counts.
    """
    values = [
        {
            "challenge": label(row["challenge"]),
            "arm": label(f"{row['arm']} ({row['condition']})"),
            "rate": _number(row["passes"]) / _number(row["attempts"]),
            "lower": _number(row["lower"]),
            "upper": _number(row["upper"]),
        }
        for row in arms.records()
        if row["comparison"] == comparison and row["challenge"] != ALL and row["lower"] is not None
    ]
    if not values:
        return sentence("No attempt counts, so there is no rate to show.")
    return _rates(values[:MOST_MARKS])


def _number(cell: Cell) -> float:
    """Return a cell's value for drawing; published numbers are those of the table."""
    return float(str(cell))


def _rates(values: Sequence[Mapping[str, object]]) -> Chart:
    arms = sorted({str(value["arm"]) for value in values})
    base = alt.Chart(alt.InlineData(values=[dict(value) for value in values])).encode(
        y=alt.Y("challenge:N", title=None, sort=None),
        yOffset=alt.YOffset("arm:N", sort=None),
        color=alt.Color("arm:N", title="arm", scale=alt.Scale(domain=arms, range=_ARM_COLOURS)),
    )
    intervals = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("lower:Q", title="pass rate", scale=alt.Scale(domain=[0, 1])), x2="upper:Q"
    )
    points = base.mark_point(filled=True, size=90, opacity=1).encode(
        x="rate:Q", shape=alt.Shape("arm:N", title="arm", scale=alt.Scale(domain=arms))
    )
    return _styled(alt.layer(intervals, points))


def timeline(control: Trajectory | None, treatment: Trajectory | None) -> Chart:
    """Show both arms step by step: who spoke, and where memory was delivered.

    Args:
        control: The control arm's session; None where it left none.
        treatment: The treatment arm's session.

    Returns:
        The chart; no text of the session is in it.
    """
    values = [
        {"arm": arm, "step": step.step_id, "who": _who(step)}
        for arm, session in (("control", control), ("treatment", treatment))
        for step in (session.steps if session else ())[: MOST_MARKS // 2]
    ]
    if not values:
        return sentence("Neither arm left a trajectory.")
    who = ["runner's prompt", "harness or memory", "agent", "agent, memory delivered"]
    chart: Chart = (
        alt.Chart(alt.InlineData(values=values))
        .mark_point(filled=True, size=110, opacity=1)
        .encode(
            x=alt.X("step:Q", title="step", axis=alt.Axis(tickMinStep=1)),
            y=alt.Y("arm:N", title=None, sort=None),
            shape=alt.Shape("who:N", title="who spoke", scale=alt.Scale(domain=who)),
            color=alt.Color(
                "who:N",
                title="who spoke",
                scale=alt.Scale(domain=who, range=["#555555", "#7a4b00", "#1f5fa8", "#a3341f"]),
            ),
        )
        .properties(width=560, height=90)
        .configure_legend(orient="bottom", columns=2, labelLimit=260)
    )
    return chart


def _who(step: Step) -> str:
    names = {"user": "runner's prompt", "system": "harness or memory", "agent": "agent"}
    is_told = step.source == "agent" and delivered_items(step)
    return "agent, memory delivered" if is_told else names[step.source]


def sentence(text: str) -> Chart:
    """Return a chart that is one sentence: what is missing, and not an empty frame."""
    chart: Chart = (
        alt.Chart(alt.InlineData(values=[{"text": text}]))
        .mark_text(align="left", fontSize=13, font=_FONT)
        .encode(text="text:N", x=alt.value(4), y=alt.value(14))
        .properties(width=480, height=28)
        .configure_view(stroke=None)
    )
    return chart


def _styled(chart: Chart) -> Chart:
    styled: Chart = (
        chart.properties(width=420)
        .configure_axis(labelFont=_FONT, titleFont=_FONT, labelLimit=260)
        .configure_legend(labelFont=_FONT, titleFont=_FONT, labelLimit=260, orient="bottom")
    )
    return styled
