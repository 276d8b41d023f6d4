from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlib.contracts.fixture import DeliveryPhrase
from benchlib.contracts.reading import Json
from benchlib.contracts.trajectory import (
    DeliveryChannel,
    Extra,
    Observation,
    ObservationResult,
    Provenance,
    Step,
    StepSource,
    ToolCall,
    Trajectory,
    TrajectoryAgent,
)
from benchlib.grade import delivered
from benchlib.grade._marks import marks, sha256_head

TEXTS = {
    "n-07": "Label width\nThe depot's printer takes 104 columns, not 96.",
    "n-11": "Rounding\nAccounting rounds half to even, per line.",
}
PHRASES = (
    DeliveryPhrase(item="n-07", text="printer takes 104 columns"),
    DeliveryPhrase(item="n-11", text="Accounting rounds half to even"),
)


def marked(item: str, *, channel: str = "tool-pull", text: str | None = None) -> str:
    body = TEXTS[item] if text is None else text
    opening = f"<!-- memory channel={channel} item={item} sha256={sha256_head(TEXTS[item])} -->"
    return f"{opening}\n{body}\n<!-- /memory item={item} -->"


def provenance(channel: DeliveryChannel | None) -> Extra | None:
    return Extra(benchlib=Provenance(channel=channel)) if channel else None


def says(
    source: StepSource, message: str, *, channel: DeliveryChannel | None = None, **more: bool
) -> Step:
    return Step(
        step_id=1,
        source=source,
        message=message,
        extra=provenance(channel),
        is_copied_context=more.get("is_copied_context"),
    )


def calls(
    name: str,
    arguments: dict[str, str],
    result: str,
    *,
    channel: DeliveryChannel | None = None,
    **more: bool,
) -> Step:
    return Step(
        step_id=1,
        source="agent",
        message="",
        tool_calls=(ToolCall(tool_call_id="c", function_name=name, arguments=dict(arguments)),),
        observation=Observation(
            results=(
                ObservationResult(source_call_id="c", content=result, extra=provenance(channel)),
            )
        ),
        is_copied_context=more.get("is_copied_context"),
    )


def session(*steps: Step) -> Trajectory:
    return Trajectory(
        agent=TrajectoryAgent(name="react", version="1"),
        steps=tuple(step.model_copy(update={"step_id": at}) for at, step in enumerate(steps, 1)),
    )


@dataclass(frozen=True)
class Request:
    request: Mapping[str, Json]


def items(*steps: Step) -> list[tuple[str, str, str, int]]:
    delivery = delivered(session(*steps), texts=TEXTS, phrases=PHRASES, wire=None)
    assert all(item.confirmed_on_wire is None for item in delivery.items)
    return [(item.item, item.channel, item.by, item.step_id) for item in delivery.items]


PROMPT = says("user", "Print a label.")
SEARCH = {"query": "label width"}


def test_a_marked_result_of_a_memory_tool_is_a_tool_pull() -> None:
    step = calls("memory_search", SEARCH, f"{marked('n-07')}\n\n{marked('n-11')}")
    assert items(PROMPT, step) == [
        ("n-07", "tool-pull", "mark", 2),
        ("n-11", "tool-pull", "mark", 2),
    ]


def test_marked_system_text_is_delivered_by_the_channel_of_its_mark() -> None:
    step = says("system", marked("n-07", channel="prompt-retrieval"))
    assert items(step, PROMPT) == [("n-07", "prompt-retrieval", "mark", 1)]


NOT_DELIVERED = {
    "an agent's message": says("agent", marked("n-07")),
    "a phrase in an agent's message": says("agent", TEXTS["n-07"]),
    "an agent's call": calls("run", {"command": marked("n-07")}, ""),
    "output of a command": calls("run", {"command": "cat notes"}, marked("n-07")),
    "a phrase in output of a command": calls("run", {"command": "cat notes"}, TEXTS["n-07"]),
    "a file that was read": calls("read", {"path": "notes.md"}, TEXTS["n-07"]),
    "an echo of the call": calls("memory_search", {"query": TEXTS["n-07"]}, marked("n-07")),
    "a phrase echoed": calls("memory_search", {"query": TEXTS["n-07"]}, f"No: {TEXTS['n-07']}"),
    "copied system text": says("system", marked("n-07"), is_copied_context=True),
    "a copied call": calls("memory_search", SEARCH, marked("n-07"), is_copied_context=True),
    "nothing found": calls("memory_search", SEARCH, "Nothing found."),
    "a prompt": says("user", TEXTS["n-07"]),
    "a marked prompt": says("user", marked("n-07")),
}


@pytest.mark.parametrize("name", NOT_DELIVERED)
def test_what_the_agent_or_the_runner_said_is_not_delivery(name: str) -> None:
    assert items(PROMPT, NOT_DELIVERED[name]) == []


@pytest.mark.parametrize("text", [TEXTS["n-07"], marked("n-07")])
def test_memory_in_the_runners_prompt_is_a_leak(text: str) -> None:
    delivery = delivered(session(says("user", text)), texts=TEXTS, phrases=PHRASES, wire=None)
    assert (delivery.in_prompt, delivery.items) == (("n-07",), ())


def test_a_phrase_without_a_mark_takes_the_channel_that_the_log_tells() -> None:
    told = says("system", f"Note: {TEXTS['n-07']}", channel="anchor-recall")
    assert items(told) == [("n-07", "anchor-recall", "phrase", 1)]
    pulled = calls("memory_get", {"id": "n-07"}, TEXTS["n-07"])
    assert items(pulled) == [("n-07", "tool-pull", "phrase", 1)]
    hook = calls("run", {"command": "ls"}, TEXTS["n-11"], channel="anchor-recall")
    assert items(hook) == [("n-11", "anchor-recall", "phrase", 1)]


def test_injected_text_of_unknown_origin_is_unattributed_and_counts_for_no_channel() -> None:
    trajectory = session(says("system", TEXTS["n-07"]))
    delivery = delivered(trajectory, texts=TEXTS, phrases=PHRASES, wire=None)
    assert [item.channel for item in delivery.items] == ["unattributed"]
    assert not delivery.any


def test_unattributed_text_adds_nothing_to_what_a_channel_delivered() -> None:
    step = calls("memory_search", SEARCH, marked("n-07"))
    assert items(says("system", TEXTS["n-07"]), step) == [("n-07", "tool-pull", "mark", 2)]


def test_an_item_counts_once_for_each_channel_where_it_came_first() -> None:
    retrieved = says("system", marked("n-07", channel="prompt-retrieval"))
    pulled = calls("memory_search", SEARCH, marked("n-07"))
    assert items(retrieved, PROMPT, pulled, retrieved, pulled) == [
        ("n-07", "prompt-retrieval", "mark", 1),
        ("n-07", "tool-pull", "mark", 3),
    ]


def test_the_mark_decides_and_a_log_that_says_otherwise_is_reported() -> None:
    step = says("system", marked("n-07", channel="anchor-recall"), channel="prompt-retrieval")
    delivery = delivered(session(step), texts=TEXTS, phrases=PHRASES, wire=None)
    assert [item.channel for item in delivery.items] == ["anchor-recall"]
    assert delivery.disagreements == (
        "step 1: the mark of n-07 says anchor-recall, the log prompt-retrieval",
    )


WHOLE = marked("n-07")
PARTIAL = {
    "cut in the closing mark": WHOLE[:-4],
    "cut in the text": WHOLE[: WHOLE.index("columns")],
    "shortened between its marks": marked("n-07", text="Label width"),
    "cut, and another item follows": f"{WHOLE[: WHOLE.index('columns')]}\n{marked('n-11')}",
}


@pytest.mark.parametrize("name", PARTIAL)
def test_a_cut_delivery_is_partial(name: str) -> None:
    step = calls("memory_search", SEARCH, PARTIAL[name])
    delivery = delivered(session(step), texts=TEXTS, phrases=(), wire=None)
    assert {item.item: item.is_partial for item in delivery.items}["n-07"]


HOLLOW = {
    "an unknown item": (WHOLE.replace("n-07", "n-99"), "does not hold"),
    "another text's digest": (WHOLE.replace(sha256_head(TEXTS["n-07"]), "0" * 12), "another text"),
    "another text inside": (marked("n-07", text="Print 80 columns."), "around another text"),
    "no text inside": (marked("n-07", text=""), "around another text"),
    "no channel of ours": (marked("n-07", channel="telepathy"), "which is none"),
}


@pytest.mark.parametrize("name", HOLLOW)
def test_a_mark_that_the_fixture_does_not_bear_out_proves_nothing(name: str) -> None:
    text, fault = HOLLOW[name]
    step = calls("memory_search", SEARCH, text)
    delivery = delivered(session(step), texts=TEXTS, phrases=(), wire=None)
    assert delivery.items == ()
    assert fault in delivery.disagreements[0]


def test_a_phrase_still_counts_where_its_mark_does_not() -> None:
    text = WHOLE.replace(sha256_head(TEXTS["n-07"]), "0" * 12)
    step = calls("memory_search", SEARCH, text)
    assert items(step) == [("n-07", "tool-pull", "phrase", 1)]


READ = calls("read", {"path": "./memory/notes.md"}, TEXTS["n-07"], channel="file-read")


def test_a_declared_memory_file_is_delivered_by_being_read() -> None:
    assert items(READ) == [("n-07", "file-read", "phrase", 1)]
    listing = calls("run", {"command": "ls memory"}, "notes.md")
    assert items(listing, READ) == [("n-07", "file-read", "phrase", 2)]


@pytest.mark.parametrize(
    "writing",
    [
        calls("write", {"path": "memory/notes.md", "content": TEXTS["n-07"]}, "ok"),
        calls("run", {"command": "echo x > memory/notes.md"}, ""),
        calls("run", {"command": "cp a.md memory/notes.md"}, ""),
        calls("run", {"command": "date | tee memory/notes.md"}, ""),
    ],
)
def test_a_file_that_the_agent_may_have_written_is_the_agents(writing: Step) -> None:
    assert items(writing, READ) == []


def wire_of(*messages: dict[str, Json]) -> list[Request]:
    return [Request({"model": "m", "messages": list(messages)})]


PULL = calls("memory_search", SEARCH, marked("n-07"))


def test_what_stands_in_a_recorded_request_is_confirmed() -> None:
    wire = wire_of({"role": "tool", "content": marked("n-07")})
    delivery = delivered(session(PULL), texts=TEXTS, phrases=PHRASES, wire=wire)
    assert [item.confirmed_on_wire for item in delivery.items] == [True]
    assert delivery.disagreements == ()


@pytest.mark.parametrize(
    "wire",
    [
        [],
        wire_of({"role": "tool", "content": "Nothing found."}),
        wire_of({"role": "assistant", "content": marked("n-07")}),
        wire_of({"role": "user", "content": [{"type": "tool_use", "input": marked("n-07")}]}),
        [Request({"tools": [{"description": marked("n-07")}]})],
    ],
    ids=["no request", "another text", "the model's own text", "the model's call", "a schema"],
)
def test_what_only_the_log_tells_is_not_delivered(wire: list[Request]) -> None:
    delivery = delivered(session(PULL), texts=TEXTS, phrases=PHRASES, wire=wire)
    assert delivery.items == ()
    assert delivery.disagreements == ("step 1: n-07 stands in the log and in no recorded request",)


def test_what_only_the_wire_tells_is_reported() -> None:
    wire = wire_of({"role": "system", "content": marked("n-11", channel="prompt-retrieval")})
    delivery = delivered(session(PROMPT), texts=TEXTS, phrases=PHRASES, wire=wire)
    assert delivery.items == ()
    assert delivery.disagreements == ("request 1: n-11 stands on the wire and not in the log",)


def test_other_wire_formats_are_read_too() -> None:
    blocks: list[Json] = [{"type": "tool_result", "content": [{"text": marked("n-07")}]}]
    for request in (
        {"messages": [{"role": "user", "content": blocks}]},
        {"input": [{"type": "function_call_output", "output": marked("n-07")}]},
        {"system": [{"text": marked("n-07")}], "messages": []},
    ):
        delivery = delivered(session(PULL), texts=TEXTS, phrases=PHRASES, wire=[Request(request)])
        assert delivery.any


LINES = st.lists(
    st.sampled_from(
        [
            WHOLE.split("\n")[0],
            "<!-- /memory item=n-07 -->",
            "<!-- memory channel=x -->",
            "text",
            "",
        ]
    ),
    max_size=12,
)


@given(LINES)
def test_marks_are_found_in_order_and_never_overlap(lines: list[str]) -> None:
    text = "\n".join(lines)
    found = list(marks(text))
    places = [place for mark in found for place in (mark.start, mark.end)]
    assert places == sorted(places)
    assert all(mark.body in text for mark in found)
    assert len(found) <= lines.count(WHOLE.split("\n")[0])
    assert bool(found) == (WHOLE.split("\n")[0] in lines)
