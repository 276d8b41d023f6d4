"""Receipts as pandas frames: every started attempt is a row, and says whether it counts.

The latest valid attempt at a pair counts; earlier ones, voids, interrupted ones
and those without a receipt stay visible. An arm's receipt must be the one that
its pair's receipt names by digest. Pairs of one line (same challenge, same two
conditions) must share one comparability key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from benchlib.contracts.attempt import ArmName, ArmReceipt
from benchlib.contracts.cohort import Cohort, PlannedPair
from benchlib.contracts.journal import JournalLine
from benchlib.contracts.pair import ComparabilityKey, PairReceipt
from benchlib.contracts.reading import read, read_bytes, read_file
from benchlib.errors import InputError, InWords, RefusedError

ARMS: tuple[ArmName, ArmName] = ("control", "treatment")

PAIR_COLUMNS: Mapping[str, str] = {
    "pair": "string",
    "attempt": "string",
    "attempt_number": "Int64",
    "challenge": "string",
    "fixture": "string",
    "control": "string",
    "treatment": "string",
    "status": "string",  # completed, void, interrupted, open (no receipt was written)
    "reason": "string",
    "detail": "string",
    "at_fault": "string",  # control, treatment, both; `pair` where no arm's own receipt says why
    "counts": "boolean",
    "outcome": "string",
    "control_reward": "Int64",
    "treatment_reward": "Int64",
    "key_sha256": "string",
    "build_under_test": "string",
    "first_arm": "string",
}
"""Columns of ``Receipts.pairs`` and their dtypes: one row per started attempt at a pair."""

ARM_COLUMNS: Mapping[str, str] = {
    "pair": "string",
    "attempt": "string",
    "arm": "string",
    "condition": "string",
    "challenge": "string",
    "control": "string",
    "treatment": "string",
    "status": "string",
    "reason": "string",
    "counts": "boolean",
    "reward": "Int64",
    "timed_out": "boolean",
    "milliseconds": "Int64",
    "steps": "Int64",
    "input_tokens": "Int64",
    "cache_read_tokens": "Int64",
    "cache_write_tokens": "Int64",
    "output_tokens": "Int64",
    "requests": "Int64",
    "undeclared_mutations": "Int64",
    "delivered": "boolean",
    "used": "boolean",
    "model": "string",
    "model_kind": "string",
    "isolation": "string",
}
"""Columns of ``Receipts.arms`` and their dtypes: one row per arm's receipt."""


@dataclass(frozen=True)
class Receipts:
    """All receipts of one cohort version.

    Args:
        cohort: The plan of the cohort.
        pairs: One row per started attempt at a pair, see ``PAIR_COLUMNS``.
        arms: One row per arm's receipt, see ``ARM_COLUMNS``.
        lock_sha256: The lock that all receipts name; None when there is no receipt.
        set_aside: What was put aside while reading, in words.
    """

    cohort: Cohort
    pairs: pd.DataFrame
    arms: pd.DataFrame
    lock_sha256: str | None
    set_aside: tuple[str, ...]

    @property
    def counted(self) -> pd.DataFrame:
        """The attempts that count: at most one per pair."""
        return self.pairs[self.pairs["counts"]]

    @property
    def counted_arms(self) -> pd.DataFrame:
        """The arms of the attempts that count: two per pair."""
        return self.arms[self.arms["counts"]]


@dataclass(frozen=True)
class _Attempt:
    """One started attempt as it lies on disk."""

    planned: PlannedPair
    attempt: str
    pair: PairReceipt | None
    arms: Mapping[str, ArmReceipt]

    @property
    def number(self) -> int:
        return int(self.attempt.removeprefix("a"))

    @property
    def is_valid(self) -> bool:
        return self.pair is not None and self.pair.change is not None


def load(inputs: str | Path = "in") -> Receipts:
    """Read a plan's inputs: ``cohort.json`` and the folder ``receipts``.

    Args:
        inputs: The folder that holds both; a plan's run calls it ``in``.

    Returns:
        The frames.

    Raises:
        InputError: A file is wrong, belongs to another cohort, or was edited.
        RefusedError: Pairs of one line have two comparability keys.
    """
    folder = Path(inputs)
    return load_receipts(read_file(Cohort, folder / "cohort.json"), folder / "receipts")


def load_folders(*, cohort: str | Path, receipts: str | Path) -> Receipts:
    """Read a cohort's folder and the folder of its receipts, as they lie in a repository.

    Args:
        cohort: The folder that holds ``cohort.json``.
        receipts: The folder of its receipts.

    Returns:
        The frames; see ``load`` for what is refused.
    """
    return load_receipts(read_file(Cohort, Path(cohort) / "cohort.json"), Path(receipts))


def load_receipts(cohort: Cohort, root: Path) -> Receipts:
    """Read all receipts of a cohort version; see ``load``.

    Args:
        cohort: The plan of the cohort.
        root: The folder of its receipts; an absent one holds none.

    Returns:
        The frames; without rows where nothing was started.

    Raises:
        InputError: A file is wrong, belongs to another cohort, or was edited.
        RefusedError: Pairs of one line have two comparability keys.
    """
    planned = {pair.id: pair for pair in cohort.pairs}
    begun, set_aside = _journaled(root / "journal.jsonl")
    attempts = sorted(
        (_attempt(root, planned, name, attempt) for name, attempt in _started(root, begun)),
        key=lambda one: (one.planned.id, one.number),
    )
    _refuse_foreign(cohort, attempts)
    counting = _counting(attempts)
    _refuse_two_keys(list(counting.values()))
    pairs = [_pair_row(one, counts=counting.get(one.planned.id) is one) for one in attempts]
    arms = [row for one in attempts for row in _arm_rows(one, counting)]
    locks = {one.pair.lock_sha256 for one in attempts if one.pair is not None}
    return Receipts(
        cohort=cohort,
        pairs=_frame(pairs, PAIR_COLUMNS),
        arms=_frame(arms, ARM_COLUMNS),
        lock_sha256=next(iter(locks), None),
        set_aside=set_aside,
    )


def _frame(rows: Sequence[Mapping[str, object]], columns: Mapping[str, str]) -> pd.DataFrame:
    """Make a frame whose columns have the declared dtypes, also when it has no row."""
    return pd.DataFrame(
        {
            name: pd.array([row[name] for row in rows], dtype=dtype)  # type: ignore[call-overload] # by name
            for name, dtype in columns.items()
        }
    )


def _journaled(path: Path) -> tuple[set[tuple[str, str]], tuple[str, ...]]:
    """Return the attempts that the journal says were started; a cut last line is set aside."""
    if not path.exists():
        return set(), ()
    *lines, rest = read_bytes(path).split(b"\n")
    begun = set()
    for number, line in enumerate(lines, start=1):
        entry = read(JournalLine, line, f"{path}: line {number}")
        if entry.event == "attempt-started" and entry.pair and entry.attempt:
            begun.add((entry.pair, entry.attempt))
    cut = (f"the journal's last line was cut off after {len(rest)} bytes",) if rest else ()
    return begun, cut


def _started(root: Path, begun: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return all started attempts: those with a folder, and those in the journal alone."""
    folders = set()
    for path in sorted(root.glob("*/a*")):
        _refuse_link(path)
        if path.is_dir() and path.parent.name != "preparations":
            folders.add((path.parent.name, path.name))
    return folders | begun


def _refuse_link(path: Path) -> None:
    if path.is_symlink() or path.parent.is_symlink():
        raise InputError(
            str(path),
            found=InWords("a link"),
            allowed="folders and regular files",
            next_step="replace the link by what it points to",
        )


def _attempt(root: Path, planned: Mapping[str, PlannedPair], name: str, attempt: str) -> _Attempt:
    folder = root / name / attempt
    if name not in planned or not attempt.removeprefix("a").isdecimal():
        raise InputError(
            str(folder),
            found=InWords(f"an attempt {attempt!r} at the pair {name!r}"),
            allowed="attempts a1, a2, … at the pairs that the cohort plans",
            next_step="name the receipts of this cohort version",
        )
    path = folder / "pair.json"
    pair = read_file(PairReceipt, path) if path.exists() else None
    if pair is not None and (pair.pair, pair.attempt) != (name, attempt):
        raise InputError(
            str(path),
            "pair, attempt",
            found=InWords(f"{pair.pair}, {pair.attempt}"),
            allowed=f"{name}, {attempt}, as the folder is called",
            next_step="put the receipt back where it was written",
        )
    return _Attempt(planned[name], attempt, pair, _arms(root, folder, pair))


def _arms(root: Path, folder: Path, pair: PairReceipt | None) -> dict[str, ArmReceipt]:
    """Read the arms that an attempt has; those that the pair names must be the very ones."""
    arms: dict[str, ArmReceipt] = {}
    for name in ARMS:
        path = folder / name / "receipt.json"
        if path.exists():
            arms[name] = read_file(ArmReceipt, path)
    for named in pair.arms if pair is not None else ():
        path = root / folder.parent.name / named.attempt / named.arm / "receipt.json"
        receipt = read_file(ArmReceipt, path)
        if receipt.canonical_sha256() != named.sha256:
            raise InputError(
                str(path),
                found=InWords(f"sha256 {receipt.canonical_sha256()}"),
                allowed=f"{named.sha256}, as {folder.parent.name}/{folder.name}/pair.json says",
                next_step="restore the receipt; receipts are never edited",
            )
        arms[named.arm] = receipt
    return arms


def _refuse_foreign(cohort: Cohort, attempts: Sequence[_Attempt]) -> None:
    """Refuse receipts of another cohort, of another version, or under two locks."""
    first: PairReceipt | None = None
    for one in attempts:
        if one.pair is None:
            continue
        first = first or one.pair
        wanted = (cohort.id, cohort.version, first.lock_sha256)
        found = (one.pair.cohort, one.pair.cohort_version, one.pair.lock_sha256)
        if found != wanted:
            raise InputError(
                f"{one.planned.id}/{one.attempt}/pair.json",
                "cohort, cohort_version, lock_sha256",
                found=InWords(", ".join(map(str, found))),
                allowed=", ".join(map(str, wanted)),
                next_step="analyse the receipts of each cohort version apart",
            )


def _counting(attempts: Sequence[_Attempt]) -> dict[str, _Attempt]:
    """Return the attempt that counts for each pair: the latest valid one."""
    return {one.planned.id: one for one in attempts if one.is_valid}  # ascending: the last stays


def _refuse_two_keys(attempts: Sequence[_Attempt]) -> None:
    lines: dict[tuple[str, str, str], tuple[str, ComparabilityKey]] = {}
    for one in attempts:
        if one.pair is None:
            continue
        planned = one.planned
        line = (planned.challenge, planned.control, planned.treatment)
        known, key = lines.setdefault(line, (planned.id, one.pair.key))
        field = first_difference(key, one.pair.key)
        if field is not None:
            raise RefusedError(
                f"pairs {known} and {planned.id}",
                f"key.{field}",
                found=InWords(f"{getattr(key, field)} -> {getattr(one.pair.key, field)}"),
                allowed="one comparability key for all pairs of one challenge and two conditions",
                next_step="analyse them as two cohort versions; they never share a line",
            )


def first_difference(one: ComparabilityKey, other: ComparabilityKey) -> str | None:
    """Return the first field in which two keys differ; None for equal keys."""
    names = type(one).model_fields
    return next((name for name in names if getattr(one, name) != getattr(other, name)), None)


def _at_fault(one: _Attempt) -> str | None:
    """Return which arm an attempt without outcome was lost to."""
    if one.is_valid:
        return None
    lost = [name for name in ARMS if name in one.arms and one.arms[name].status != "completed"]
    return {0: "pair", 1: lost[0] if lost else "pair", 2: "both"}[len(lost)]


def _pair_row(one: _Attempt, *, counts: bool) -> dict[str, object]:
    pair = one.pair
    change = pair.change if pair else None
    return {
        "pair": one.planned.id,
        "attempt": one.attempt,
        "attempt_number": one.number,
        "challenge": one.planned.challenge,
        "fixture": one.planned.fixture,
        "control": one.planned.control,
        "treatment": one.planned.treatment,
        "status": pair.status if pair else "open",
        "reason": pair.reason if pair else "no-receipt",
        "detail": pair.detail if pair else "",
        "at_fault": _at_fault(one),
        "counts": counts,
        "outcome": change.outcome if change else None,
        "control_reward": change.control_reward if change else None,
        "treatment_reward": change.treatment_reward if change else None,
        "key_sha256": pair.key.canonical_sha256() if pair else None,
        "build_under_test": pair.build_under_test if pair else None,
        "first_arm": pair.order[0] if pair else None,
    }


def _arm_rows(one: _Attempt, counting: Mapping[str, _Attempt]) -> Iterator[dict[str, object]]:
    """Yield a row for each arm that this attempt ran; a joined half is a row of its own attempt."""
    counted = counting.get(one.planned.id)
    for name, arm in one.arms.items():
        if arm.attempt == one.attempt:
            in_outcome = counted is not None and counted.arms.get(name) == arm
            yield _arm_row(one.planned, arm, counts=in_outcome)


def _arm_row(planned: PlannedPair, arm: ArmReceipt, *, counts: bool) -> dict[str, object]:
    usage = arm.usage
    return {
        "pair": planned.id,
        "attempt": arm.attempt,
        "arm": arm.arm,
        "condition": arm.condition,
        "challenge": planned.challenge,
        "control": planned.control,
        "treatment": planned.treatment,
        "status": arm.status,
        "reason": arm.reason,
        "counts": counts,
        "reward": arm.reward,
        "timed_out": any(process.timed_out for process in arm.processes),
        "milliseconds": arm.milliseconds,
        "steps": arm.steps,
        "input_tokens": usage.input_tokens if usage else None,
        "cache_read_tokens": usage.cache_read_tokens if usage else None,
        "cache_write_tokens": usage.cache_write_tokens if usage else None,
        "output_tokens": usage.output_tokens if usage else None,
        "requests": usage.requests if usage else None,
        "undeclared_mutations": len(arm.mutations.undeclared) if arm.mutations else None,
        "delivered": arm.delivery.any if arm.delivery else None,
        "used": arm.use.used if arm.use else None,
        "model": arm.model,
        "model_kind": arm.model_kind,
        "isolation": arm.sandbox.isolation if arm.sandbox else None,
    }
