"""Fact one: memory reached the model. Whether it helped is another fact.

The rules, in their order:

1. only what the agent did not write counts: text that a harness or a memory put in,
   and results of declared memory tools and paths. A result that echoes its own call,
   and a file that the agent wrote, are the agent's words;
2. the mark decides. It must carry the digest of the fixture's text of that item, and
   the text must follow it; a missing end or a shorter text is a partial delivery.
   Where the log's own provenance says otherwise, the mark stands and the disagreement
   is reported;
3. outside marks, a declared phrase decides; injected text of unknown origin is
   ``unattributed`` and counts for no channel;
4. an item counts once for each channel, where it came first;
5. a phrase in the runner's own prompt is a leak of the task, not delivery;
6. where the wire was recorded, what the model saw is decided there.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

from benchlib.contracts.attempt import Delivered, Delivery
from benchlib.contracts.fixture import DeliveryPhrase
from benchlib.contracts.reading import Json
from benchlib.contracts.trajectory import DeliveryChannel, Trajectory
from benchlib.errors import shown
from benchlib.grade._marks import Mark, marks, sha256_head, without_marks
from benchlib.grade._sources import Heard, all_texts, heard, prompts

REFERENCE_TOOLS = frozenset({"memory_search", "memory_get", "memory_neighbours"})
"""The read tools of the reference system."""

UNATTRIBUTED = "unattributed"

_LEAST_CHARACTERS = 12
"""A shorter beginning may be chance; as for a delivery phrase."""

_CHANNELS = frozenset(get_args(DeliveryChannel))


class Exchange(Protocol):
    """One recorded request; a gateway's record has more."""

    @property
    def request(self) -> Mapping[str, Json]:
        """The request's JSON as the model received it."""
        ...


@dataclass(frozen=True)
class _Found:
    """An item in the log, and the text that the wire must hold too."""

    item: str
    channel: str
    by: Literal["mark", "phrase"]
    step_id: int
    is_partial: bool
    text: str


def delivered(
    trajectory: Trajectory,
    *,
    texts: Mapping[str, str],
    phrases: Iterable[DeliveryPhrase],
    wire: Iterable[Exchange] | None,
    memory_tools: Collection[str] = REFERENCE_TOOLS,
) -> Delivery:
    """Find every item of memory that the model saw, and by which channel.

    Args:
        trajectory: The arm's session.
        texts: The fixture's items: id to text, as a mark's digest is taken of it.
        phrases: The fixture's delivery phrases.
        wire: The recorded requests, in order; None where no gateway recorded.
        memory_tools: Names of the tools whose results are memory.

    Returns:
        The items in the order of their first delivery, leaks in the prompt, and where
        log and wire tell different stories.
    """
    phrases = tuple(phrases)
    disagreements: list[str] = []
    found = _first_of_each(
        one
        for text in heard(trajectory, memory_tools)
        for one in _items(text, texts, phrases, disagreements)
    )
    confirmed = found
    if wire is not None:
        confirmed = _on_the_wire(found, wire, texts, trajectory, disagreements)
    return Delivery(
        items=tuple(
            Delivered(
                item=one.item,
                channel=one.channel,
                by=one.by,
                step_id=one.step_id,
                is_partial=one.is_partial,
                confirmed_on_wire=None if wire is None else True,
            )
            for one in confirmed
        ),
        in_prompt=_leaks(trajectory, texts, phrases),
        disagreements=tuple(dict.fromkeys(disagreements)),
    )


def _items(
    given: Heard,
    texts: Mapping[str, str],
    phrases: tuple[DeliveryPhrase, ...],
    disagreements: list[str],
) -> Iterator[_Found]:
    """Rules 1 to 3 for one text."""
    valid = []
    for mark in marks(given.text):
        fault = _mark_fault(mark, texts)
        if fault:
            disagreements.append(f"step {given.step_id}: {fault}")
            continue
        valid.append(mark)
        body = _arrived(mark, texts)
        if any(body in own for own in given.own_words):
            continue  # an echo of the call
        if given.channel not in {None, mark.channel}:
            disagreements.append(
                f"step {given.step_id}: the mark of {mark.item} says {mark.channel}, "
                f"the log {given.channel}"
            )
        is_partial = not mark.is_closed or body != texts[mark.item].strip()
        yield _Found(mark.item, mark.channel, "mark", given.step_id, is_partial, body)
    rest = without_marks(given.text, valid)
    for phrase in phrases:
        is_echo = any(phrase.text in own for own in given.own_words)
        if phrase.text in rest and not is_echo:
            channel = given.channel or UNATTRIBUTED
            yield _Found(phrase.item, channel, "phrase", given.step_id, False, phrase.text)


def _mark_fault(mark: Mark, texts: Mapping[str, str]) -> str | None:
    """Say why a mark proves nothing."""
    name = shown(mark.item)
    if mark.item not in texts:
        return f"a mark names {name}, which the memory does not hold"
    if mark.sha256_head != sha256_head(texts[mark.item]):
        return f"the mark of {name} carries the digest of another text"
    if mark.channel not in _CHANNELS:
        return f"the mark of {name} names the channel {mark.channel}, which is none"
    if not _arrived(mark, texts):
        return f"the mark of {name} stands around another text"
    return None


def _arrived(mark: Mark, texts: Mapping[str, str]) -> str:
    """Return what of an item's text stands behind its mark; a cut may leave a notice there."""
    whole = texts[mark.item]
    if mark.is_closed:
        return mark.body.strip() if mark.body.strip() in whole else ""
    start = os.path.commonprefix([mark.body, whole]).strip()  # noqa: RUF071 - texts, no paths
    return start if len(start) >= _LEAST_CHARACTERS else ""


def _first_of_each(found: Iterable[_Found]) -> list[_Found]:
    """Rule 4; unattributed text adds nothing to what a channel delivered."""
    first: dict[tuple[str, str], _Found] = {}
    for one in found:
        first.setdefault((one.item, one.channel), one)
    attributed = {item for item, channel in first if channel != UNATTRIBUTED}
    kept = (
        one for one in first.values() if one.channel != UNATTRIBUTED or one.item not in attributed
    )
    return sorted(kept, key=lambda one: one.step_id)


def _leaks(
    trajectory: Trajectory, texts: Mapping[str, str], phrases: tuple[DeliveryPhrase, ...]
) -> tuple[str, ...]:
    """Rule 5."""
    leaked = {
        phrase.item
        for prompt in prompts(trajectory)
        for phrase in phrases
        if phrase.text in prompt.text
    }
    leaked |= {
        mark.item
        for prompt in prompts(trajectory)
        for mark in marks(prompt.text)
        if _mark_fault(mark, texts) is None
    }
    return tuple(sorted(leaked))


def _on_the_wire(
    found: list[_Found],
    wire: Iterable[Exchange],
    texts: Mapping[str, str],
    trajectory: Trajectory,
    disagreements: list[str],
) -> list[_Found]:
    """Rule 6: keep what stands in a request; report what only one of the two tells."""
    wanted = {one.text for one in found}
    seen: set[str] = set()
    unlogged: dict[str, int] = {}
    logged = {one.item for one in found}
    for number, exchange in enumerate(wire, start=1):
        for text in _heard_on_wire(exchange.request):
            seen |= {one for one in wanted - seen if one in text}
            for mark in marks(text):
                if mark.item not in logged and _mark_fault(mark, texts) is None:
                    unlogged.setdefault(mark.item, number)
    disagreements += [
        f"step {one.step_id}: {one.item} stands in the log and in no recorded request"
        for one in found
        if one.text not in seen
    ]
    told = set(all_texts(trajectory)) if unlogged else set()
    disagreements += [
        f"request {number}: {item} stands on the wire and not in the log"
        for item, number in unlogged.items()
        if not any(texts[item] in text for text in told)  # else the log has it, uncounted
    ]
    return [one for one in found if one.text in seen]


_MODELS_TYPES = frozenset(
    {"function_call", "custom_tool_call", "tool_use", "reasoning", "thinking"}
)


def _heard_on_wire(request: Mapping[str, Json]) -> Iterator[str]:
    """Yield the texts of a model request that the model did not write itself.

    OpenAI chat and responses, and Anthropic messages, tell it by `role` or `type`.
    """
    pending: list[Json] = [
        request[key] for key in ("messages", "system", "input", "instructions") if key in request
    ]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            pending += value
        elif isinstance(value, dict) and not _model_wrote(value):
            pending += value.values()


def _model_wrote(value: Mapping[str, Json]) -> bool:
    return value.get("role") == "assistant" or value.get("type") in _MODELS_TYPES
