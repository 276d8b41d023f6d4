"""Trajectories as HTML in which nothing that an agent or a tool said can act.

Every text is escaped, control and direction characters stand as escapes, and long
texts are cut. Injected memory is marked where the kit's own marks stand in what a
tool or the harness said; the same characters in an agent's words are shown as words.
"""

from __future__ import annotations

import html
import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from benchlib.analysis.frames import Receipts
from benchlib.contracts.attempt import ArmReceipt
from benchlib.contracts.pair import PairReceipt
from benchlib.contracts.reading import read_file
from benchlib.contracts.trajectory import Step, Trajectory
from benchlib.errors import InputError, InWords

LONGEST_TEXT = 20_000
"""A text beyond this many characters is cut, and says so."""

_MARK = re.compile(
    r"<!-- memory channel=(?P<channel>[a-z-]{1,40}) item=(?P<item>[^\s<>]{1,256})"
    r" sha256=(?P<sha256>[0-9a-f]{12}) -->\n?(?P<text>.*?)\n?<!-- /memory item=(?P=item) -->",
    re.DOTALL,
)
_SOURCES = {"system": "harness or memory", "user": "the runner's prompt", "agent": "the agent"}
_STYLE = {
    "box": "border-left:4px solid {};padding:2px 10px;margin:6px 0",
    "text": "white-space:pre-wrap;overflow-wrap:anywhere;margin:4px 0",
    "memory": "border:2px dashed #7a4b00;background:#fff3d6;color:#3a2400;padding:4px 8px",
}
_COLOURS = {"system": "#7a4b00", "user": "#555555", "agent": "#1f5fa8"}


@dataclass(frozen=True)
class Html:
    """A piece of finished HTML; JupyterLab shows it, and a page may hold it."""

    text: str

    def _repr_html_(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Html of {len(self.text)} characters>"


def visible(text: str) -> str:
    r"""Return a text in which every character is one that a reader sees.

    Args:
        text: Anything that a log held.

    Returns:
        The text, cut if it is long; line ends and tabs stay, other control and format
        characters stand as escapes.

    Example:
        >>> visible("a\x1b[31mb\u202ec")
        'a\\x1b[31mb\\u202ec'
    """
    kept = text[:LONGEST_TEXT]
    shown = "".join(
        one if one in "\n\t" or unicodedata.category(one)[0] != "C" else ascii(one)[1:-1]
        for one in kept
    ).replace("\u2028", "\\u2028")
    rest = len(text) - len(kept)
    return f"{shown}\n… {rest} more characters are in the receipt" if rest else shown


def _escaped(text: str) -> str:
    return html.escape(visible(text))


def read_trajectory(receipts: Path, pair: str, attempt: str, arm: str) -> Trajectory | None:
    """Return an arm's trajectory; None where the arm left none.

    Args:
        receipts: The folder of a cohort version's receipts.
        pair: The pair's id.
        attempt: Such as ``a1``.
        arm: ``control`` or ``treatment``.
    """
    path = receipts / pair / attempt / arm / "trajectory.json"
    return read_file(Trajectory, path) if path.exists() else None


def latest_attempt(receipts: Path, pair: str) -> str:
    """Return the latest attempt at a pair that left a receipt.

    Raises:
        InputError: There is none; the message names the pairs that have one.
    """
    attempts = [path.parent.name for path in (receipts / pair).glob("a*/pair.json")]
    if not attempts:
        known = sorted({path.parts[-3] for path in receipts.glob("*/a*/pair.json")})
        raise InputError(
            str(receipts / pair),
            found=InWords("no attempt with a receipt"),
            allowed=f"one of {', '.join(known) or 'the pairs that were run'}",
            next_step="choose another pair, or run this one",
        )
    return max(attempts, key=lambda name: int(name.removeprefix("a")))


def pair_list(receipts: Receipts) -> Html:
    """Show every started attempt: which pair, what became of it, and whether it counts.

    Args:
        receipts: The frames of a cohort version.

    Returns:
        A table with one row per attempt.
    """
    names = ("pair", "attempt", "challenge", "control", "treatment", "status", "outcome", "reason")
    head = "".join(f'<th scope="col">{name}</th>' for name in (*names, "counts"))
    rows = []
    for row in receipts.pairs.to_dict("records"):
        cells = ["" if pd.isna(row[name]) else str(row[name]) for name in names]
        cells.append("yes" if row["counts"] else "no")
        rows.append(f"<tr>{''.join(f'<td>{_escaped(cell)}</td>' for cell in cells)}</tr>")
    caption = "<caption>Every started attempt</caption>"
    body = f"<tbody>{''.join(rows)}</tbody>"
    return Html(f"<table>{caption}<thead><tr>{head}</tr></thead>{body}</table>")


def first_pair(receipts: Receipts) -> str:
    """Return the first pair whose outcome memory changed, else the first that was started.

    Raises:
        InputError: Nothing was started yet.
    """
    pairs = receipts.pairs
    changed = pairs[pairs["outcome"].isin(["gained", "lost"])]
    for frame in (changed, pairs):
        if len(frame):
            return str(frame["pair"].iloc[0])
    raise InputError(
        f"receipts of {receipts.cohort.id}",
        found=InWords("no attempt"),
        allowed="at least one started pair",
        next_step="run the cohort first",
    )


def pair_view(receipts: Path, pair: str, attempt: str | None = None) -> Html:
    """Show both arms of an attempt: what became of them, and each step in the open.

    Args:
        receipts: The folder of a cohort version's receipts.
        pair: The pair's id.
        attempt: Such as ``a1``; the latest one by default.

    Returns:
        The page's piece: a summary, then control and treatment side by side.

    Raises:
        InputError: There is no such attempt.
    """
    chosen = attempt or latest_attempt(receipts, pair)
    receipt = read_file(PairReceipt, receipts / pair / chosen / "pair.json")
    columns = "".join(_arm(receipts, receipt, arm) for arm in ("control", "treatment"))
    return Html(
        f"<section>{_summary(receipt)}"
        f'<div style="display:flex;flex-wrap:wrap;gap:16px">{columns}</div></section>'
    )


def _summary(receipt: PairReceipt) -> str:
    if receipt.change is not None:
        told = f"outcome {receipt.change.outcome}"
    else:
        told = f"{receipt.status}: {receipt.reason} {receipt.detail}"
    head = f"{receipt.pair}, attempt {receipt.attempt}, challenge {receipt.challenge}"
    return f"<p><strong>{_escaped(head)}</strong><br>{_escaped(told)}</p>"


def _arm(receipts: Path, pair: PairReceipt, arm: str) -> str:
    folder = receipts / pair.pair / pair.attempt / arm
    path = folder / "receipt.json"
    if not path.exists():
        body = "<p>This arm was not run.</p>"
    else:
        receipt = read_file(ArmReceipt, path)
        trajectory = read_trajectory(receipts, pair.pair, pair.attempt, arm)
        body = _facts(receipt)
        body += "".join(_steps(trajectory)) if trajectory else "<p>It left no trajectory.</p>"
    return f'<div style="flex:1 1 360px;min-width:0"><h3>{_escaped(arm)}</h3>{body}</div>'


def _facts(arm: ArmReceipt) -> str:
    reward = "no reward, for it is void" if arm.reward is None else f"reward {arm.reward}"
    delivered = len(arm.delivery.items) if arm.delivery else 0
    used = arm.use.used if arm.use else False
    words = [
        f"condition {arm.condition}",
        f"{arm.status}, {reward}",
        f"memory items delivered: {delivered}, used: {'yes' if used else 'no'}",
        f"model {arm.model} ({arm.model_kind})",
    ]
    return f"<ul>{''.join(f'<li>{_escaped(line)}</li>' for line in words)}</ul>"


def delivered_items(step: Step) -> list[str]:
    """Return the ids of the memory items that a tool or the harness put into a step.

    Args:
        step: A step of a trajectory; an agent's own words count for nothing.
    """
    told = [result.content or "" for result in step.observation.results] if step.observation else []
    told += [step.message] if step.source == "system" else []
    return [match["item"] for text in told for match in _MARK.finditer(text)]


def trajectory_view(trajectory: Trajectory) -> Html:
    """Show one trajectory step by step; see ``pair_view`` for both arms."""
    return Html("".join(_steps(trajectory)))


def _steps(trajectory: Trajectory) -> Iterator[str]:
    for step in trajectory.steps:
        style = _STYLE["box"].format(_COLOURS[step.source])
        head = f"step {step.step_id}: {_SOURCES[step.source]}"
        yield (
            f'<details open style="{style}"><summary>{_escaped(head)}</summary>'
            f"{''.join(_parts(step))}</details>"
        )


def _parts(step: Step) -> Iterator[str]:
    if step.reasoning_content:
        yield _block("reasoning", step.reasoning_content, is_memory_told=False)
    if step.message:
        yield _block("", step.message, is_memory_told=step.source == "system")
    for call in step.tool_calls or ():
        arguments = json.dumps(call.arguments, ensure_ascii=False, sort_keys=True)
        yield _block(f"call {call.function_name}", arguments, is_memory_told=False)
    for result in step.observation.results if step.observation else ():
        yield _block("a tool answered", result.content or "", is_memory_told=True)


def _block(label: str, text: str, *, is_memory_told: bool) -> str:
    """Return one text; memory is marked only where a tool or the harness speaks."""
    name = f"<em>{_escaped(label)}</em>" if label else ""
    body = "".join(_marked(text)) if is_memory_told else _escaped(text)
    return f'{name}<div style="{_STYLE["text"]}">{body}</div>'


def _marked(text: str) -> Iterator[str]:
    """Yield escaped text with each delivered item in a box of its own."""
    end = 0
    for match in _MARK.finditer(text):
        yield _escaped(text[end : match.start()])
        label = f"memory {match['item']} by {match['channel']}, sha256 {match['sha256']}…"
        yield (
            f'<div style="{_STYLE["memory"]}"><strong>{_escaped(label)}</strong>'
            f"<br>{_escaped(match['text'])}</div>"
        )
        end = match.end()
    yield _escaped(text[end:])
