"""Views show what was said and let none of it act."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest
from analysis.support import ReceiptsBuilder, trajectory

from benchlib.analysis import views
from benchlib.analysis.frames import load
from benchlib.contracts.trajectory import (
    Observation,
    ObservationResult,
    Step,
    ToolCall,
    Trajectory,
    TrajectoryAgent,
)
from benchlib.errors import InputError

CASES = Path(__file__).parents[1] / "cases" / "notebooks"
LINES = (CASES / "hostile_values.jsonl").read_text().split("\n")
HOSTILE = [json.loads(line)["text"] for line in LINES if line]
MARKED = (
    "<!-- memory channel=tool-pull item=n-0412 sha256=9f2c41d07be3 -->\n{}\n"
    "<!-- /memory item=n-0412 -->"
)


class Elements(HTMLParser):
    """Collects what a browser would take for elements, attributes and text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return "".join(self.words)


def session(text: str) -> Trajectory:
    """Return a session with a text in each place that a log can fill."""
    call = ToolCall(tool_call_id="c", function_name=text, arguments={text: [text]})
    result = ObservationResult(source_call_id="c", content=text)
    return Trajectory(
        agent=TrajectoryAgent(name=text, version=text),
        steps=(
            Step(step_id=1, source="system", message=text),
            Step(step_id=2, source="user", message=text),
            Step(
                step_id=3,
                source="agent",
                message=text,
                reasoning_content=text,
                tool_calls=(call,),
                observation=Observation(results=(result,)),
            ),
        ),
    )


@pytest.mark.parametrize("text", [*HOSTILE, *(MARKED.format(text) for text in HOSTILE)])
def test_no_text_of_a_log_becomes_an_element(text: str) -> None:
    shown = Elements(views.trajectory_view(session(text))._repr_html_())
    assert shown.tags <= {"details", "summary", "div", "em", "strong", "br"}
    assert shown.attributes <= {"open", "style"}
    assert not {"\x1b", "\u202e", "\u2028"} & set(shown.text)


def test_the_text_itself_is_there_to_read() -> None:
    page = Elements(views.trajectory_view(session(HOSTILE[0]))._repr_html_())
    assert page.text.count("<script>document.title='PWNED'</script>") >= 5


def test_memory_is_marked_where_a_tool_or_the_harness_speaks_and_nowhere_else() -> None:
    page = views.trajectory_view(session(MARKED.format("use the blue label"))).text
    system, user, agent = page.split("<details")[1:]
    label = "memory n-0412 by tool-pull"
    assert label in system
    assert label not in user
    said, answered = agent.split("a tool answered")
    assert label not in said
    assert label in answered


def test_a_mark_that_was_cut_off_is_no_box() -> None:
    cut = MARKED.format("use the blue label")[:-5]
    assert "memory n-0412 by" not in views.trajectory_view(session(cut)).text


def test_a_long_text_is_cut_and_says_so() -> None:
    shown = views.visible("a" * (views.LONGEST_TEXT + 7))
    assert shown.endswith("… 7 more characters are in the receipt")


def test_both_arms_of_a_pair_are_shown_with_their_facts(demo: ReceiptsBuilder) -> None:
    shown = Elements(views.pair_view(demo.root / "receipts", "rename-populated-1").text)
    assert "rename-populated-1, attempt a2" in shown.text
    assert "outcome gained" in shown.text
    assert "memory items delivered: 1, used: yes" in shown.text
    assert "model demo (scripted)" in shown.text


def test_an_earlier_void_attempt_can_be_looked_at(demo: ReceiptsBuilder) -> None:
    shown = Elements(views.pair_view(demo.root / "receipts", "rename-populated-1", "a1").text)
    assert "void: provider-failed" in shown.text


def test_an_arm_that_was_not_run_is_said(demo: ReceiptsBuilder) -> None:
    pair = demo.cohort.pairs[0]
    demo.pair(pair, "a3", control=demo.arm(pair, "a3", "control", reason="sandbox-failed"))
    assert "This arm was not run." in views.pair_view(demo.root / "receipts", pair.id).text


def test_a_pair_without_receipt_names_those_that_have_one(demo: ReceiptsBuilder) -> None:
    with pytest.raises(InputError, match="rename-populated-1"):
        views.pair_view(demo.root / "receipts", "nowhere")


def test_the_list_shows_every_attempt(demo: ReceiptsBuilder) -> None:
    shown = Elements(views.pair_list(load(demo.root)).text)
    assert shown.text.count("rename-populated-1") == 2
    assert "provider-failed" in shown.text
    assert views.first_pair(load(demo.root)) == "explain-populated-1"


def test_delivered_items_are_counted_per_step(demo: ReceiptsBuilder) -> None:
    arm = demo.arm(demo.cohort.pairs[0], "a1", "treatment", reward=1)
    items = [views.delivered_items(step) for step in trajectory(arm).steps]
    assert items == [[], [], ["n-0001"], []]
