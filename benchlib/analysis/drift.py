"""Drift: what differs between a pinned plan and the one that was found, cell by cell.

Cells are aligned by content, so that one inserted cell is one inserted cell and
the rest is said to be unchanged. A drifted plan never runs as the plan.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchlib.analysis.declarations import PlanObject
from benchlib.analysis.plans import FrozenPlan, cell_title, plan_sha256
from benchlib.errors import DriftError, InWords, escaped

SHOWN_IN_FULL = 20
"""So many differences are shown whole; the others are counted."""

_ALIKE = 0.5  # below this ratio two sources are two cells, not one that changed


@dataclass(frozen=True)
class Difference:
    """One thing that differs.

    Args:
        title: What it is, such as ``cell 4 of 7 (table primary_outcome)``.
        lines: The change; ``- `` is the pinned side, ``+ `` the one that was found.
    """

    title: str
    lines: tuple[str, ...]


class PlanDriftError(DriftError):
    """A plan is not the one that was pinned; carries the difference.

    Args:
        place: The notebook.
        found: Digest of what was found.
        allowed: Digest that was pinned.
        frozen_in: The file that pins it.
        differences: What differs; empty where the pinned object is not at hand.
        unchanged: How many cells are the same.
    """

    def __init__(
        self,
        place: str,
        *,
        found: str,
        allowed: str,
        frozen_in: str,
        differences: Sequence[Difference],
        unchanged: int,
    ) -> None:
        self.differences = tuple(differences)
        self.unchanged = unchanged
        self.found_sha256 = found
        self.allowed_sha256 = allowed
        super().__init__(
            place,
            self.differences[0].title if self.differences else "plan_sha256",
            found=InWords(f"plan {_short(found)}"),
            allowed=f"plan {_short(allowed)}, frozen in {frozen_in}",
            next_step="restore the cell (git checkout), or freeze a new version that says why",
        )

    def lines(self) -> list[str]:
        """Return the differences as lines of text, nothing in them left raw."""
        shown = self.differences[:SHOWN_IN_FULL]
        text = [line for index, one in enumerate(shown) for line in _shown(one, first=index == 0)]
        more = len(self.differences) - len(shown)
        if more:
            text.append(f"and {more} more differences")
        if self.differences:
            text.append(f"{self.unchanged} cells unchanged")
        return [escaped(line) for line in text]

    def __str__(self) -> str:
        head = f"{self.place}: {self.field}"
        parts = [f"  found    {self.found}", f"  allowed  {self.allowed}"]
        parts += [f"  {line}" for line in self.lines()]
        return "\n".join([head, *parts, f"  next     {self.next_step}"])

    def parts(self) -> list[dict[str, str]]:
        """Return the error as plain data, the differences as one text."""
        first, *others = super().parts()
        return [first | {"difference": "\n".join(self.lines())}, *others]


def _short(digest: str) -> str:
    return f"{digest[:4]}…{digest[-4:]}"


def _shown(difference: Difference, *, first: bool) -> Iterator[str]:
    if not first:  # the first one's title stands in the head
        yield difference.title
    yield from difference.lines


def check_drift(
    plan: FrozenPlan,
    *,
    expected_plan_sha256: str,
    pinned: PlanObject | None,
    frozen_in: str,
) -> None:
    """Refuse a plan that is not the pinned one.

    Args:
        plan: What was read.
        expected_plan_sha256: What was pinned.
        pinned: The pinned object, where it is at hand; it shows the cell.
        frozen_in: The file that pins it, for the message.

    Raises:
        PlanDriftError: The digests differ. A difference of line ends, ids or outputs is none.
    """
    if plan.plan_sha256 == expected_plan_sha256:
        return
    is_the_pinned_one = pinned is not None and plan_sha256(pinned) == expected_plan_sha256
    differences = compare_plans(pinned, plan.content) if pinned and is_the_pinned_one else []
    unchanged = _unchanged(pinned, plan.content) if pinned and is_the_pinned_one else 0
    raise PlanDriftError(
        plan.place,
        found=plan.plan_sha256,
        allowed=expected_plan_sha256,
        frozen_in=frozen_in,
        differences=differences,
        unchanged=unchanged,
    )


def compare_plans(pinned: PlanObject, found: PlanObject) -> list[Difference]:
    """Return what differs between two plans: cells first, then declarations by name.

    Args:
        pinned: The plan that was promised.
        found: The plan that is there.

    Returns:
        The differences in reading order; empty for equal plans.
    """
    return [
        *_cells(pinned, found),
        *_named("parameter", _dumps(pinned.parameters), _dumps(found.parameters)),
        *_named("output", _dumps(pinned.outputs), _dumps(found.outputs)),
        *_named("library", _dumps(pinned.libraries), _dumps(found.libraries)),
        *_named("python", {"": {"version": pinned.python}}, {"": {"version": found.python}}),
    ]


def diff(pinned: PlanObject, found: PlanObject) -> str:
    """Return the differences of two plans as text, for people."""
    lines: list[str] = []
    for difference in compare_plans(pinned, found):
        lines += [difference.title, *(f"  {line}" for line in difference.lines)]
    return "\n".join(escaped(line) for line in lines)


def _blocks(pinned: PlanObject, found: PlanObject) -> difflib.SequenceMatcher[bytes]:
    one, other = ([cell.canonical() for cell in plan.cells] for plan in (pinned, found))
    return difflib.SequenceMatcher(a=one, b=other, autojunk=False)


def _unchanged(pinned: PlanObject, found: PlanObject) -> int:
    return sum(block.size for block in _blocks(pinned, found).get_matching_blocks())


def _cells(pinned: PlanObject, found: PlanObject) -> Iterator[Difference]:
    for tag, left, left_end, right, right_end in _blocks(pinned, found).get_opcodes():
        if tag != "equal":
            yield from _block(pinned, found, range(left, left_end), range(right, right_end))


def _block(pinned: PlanObject, found: PlanObject, old: range, new: range) -> Iterator[Difference]:
    """Pair the cells of a block that are alike; what has no like was put in or taken out."""
    waiting = list(new)
    for index in old:
        partner = next((one for one in waiting if _alike(pinned, index, found, one)), None)
        if partner is None:
            title = f"{cell_title(pinned, index)} removed"
            yield Difference(title, _marked("-", pinned.cells[index].source))
            continue
        for inserted in [one for one in waiting if one < partner]:
            yield _inserted(found, inserted)
        waiting = [one for one in waiting if one > partner]
        yield _changed(pinned, index, found, partner)
    for inserted in waiting:
        yield _inserted(found, inserted)


def _alike(pinned: PlanObject, index: int, found: PlanObject, partner: int) -> bool:
    one, other = pinned.cells[index], found.cells[partner]
    if one.kind != other.kind:
        return False
    is_same_output = one.output is not None and one.output == other.output
    ratio = difflib.SequenceMatcher(None, one.source, other.source, autojunk=False).ratio()
    return is_same_output or ratio >= _ALIKE


def _inserted(found: PlanObject, index: int) -> Difference:
    kind = found.cells[index].kind
    title = f"{cell_title(found, index)} inserted, {kind}"
    return Difference(title, _marked("+", found.cells[index].source))


def _changed(pinned: PlanObject, index: int, found: PlanObject, partner: int) -> Difference:
    one, other = pinned.cells[index], found.cells[partner]
    lines = [
        line
        for line in difflib.ndiff(one.source.split("\n"), other.source.split("\n"))
        if line.startswith(("- ", "+ "))
    ]
    if (one.role, one.output) != (other.role, other.output):
        lines.append(f"role {one.role} {one.output or ''} -> {other.role} {other.output or ''}")
    return Difference(cell_title(found, partner), tuple(lines))


def _marked(mark: str, source: str) -> tuple[str, ...]:
    return tuple(f"{mark} {line}" for line in source.split("\n"))


def _dumps(items: Sequence[object]) -> dict[str, dict[str, object]]:
    """Return declarations by name as plain data."""
    dumped: dict[str, dict[str, object]] = {}
    for item in items:
        fields = item.model_dump(mode="json", exclude_none=True)  # type: ignore[attr-defined] # contracts
        dumped[str(fields.get("name", fields.get("id")))] = fields
    return dumped


def _named(
    what: str, pinned: dict[str, dict[str, object]], found: dict[str, dict[str, object]]
) -> Iterator[Difference]:
    for name in sorted(pinned.keys() | found.keys()):
        title = f"{what} {name}".rstrip()
        old, new = pinned.get(name), found.get(name)
        if old is None or new is None:
            yield Difference(f"{title} {'added' if old is None else 'removed'}", ())
        elif old != new:
            fields = sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))
            lines = [f"{name}: {key} {old.get(key)} -> {new.get(key)}" for key in fields]
            yield Difference(title, tuple(line.removeprefix(": ") for line in lines))
    if list(pinned) != list(found) and pinned.keys() == found.keys():
        yield Difference(f"order of each {what}", (f"{', '.join(pinned)} -> {', '.join(found)}",))


def frozen_in(cohort: Path, repository: Path) -> str:
    """Return the name of the file that pins a plan, as a message may carry it."""
    path = cohort / "plan.lock.json"
    inside = path.is_relative_to(repository)
    return path.relative_to(repository).as_posix() if inside else path.name
