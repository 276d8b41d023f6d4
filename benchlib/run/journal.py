"""The append-only journal of a run: what was begun, before it costs anything.

Each line is durable before the step that it announces starts. Only the last line
can be cut by a crash: it is set aside and reported. A damaged earlier line is an
error, for then somebody edited the file. One runner at a time holds the journal.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from benchlib.contracts.attempt import ArmName
from benchlib.contracts.files import sync_folder, write_atomically
from benchlib.contracts.journal import Event, JournalLine
from benchlib.contracts.reading import read
from benchlib.errors import InputError, InWords, OutsideError, RefusedError

Clock = Callable[[], str]


def utc_now() -> str:
    """Return the time as receipts write it: UTC, with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Journal:
    """An open journal; use it as a context manager, from any thread.

    Args:
        path: The file; made if it is not there.
        clock: Gives the time of a line.

    Raises:
        RefusedError: Another runner holds it.
        InputError: A line before the last is damaged, or its place is taken.
        OutsideError: Its folder can't be made or written.
    """

    def __init__(self, path: Path, clock: Clock = utc_now) -> None:
        self.path = path
        self.lines: list[JournalLine] = []
        self.set_aside: Path | None = None
        self._clock = clock
        self._guard = threading.Lock()
        self._file: BinaryIO | None = None

    def __enter__(self) -> Self:
        self._file = self._opened()
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.close()
            raise RefusedError(
                str(self.path),
                found=InWords("a journal that another runner holds"),
                allowed="one runner at a time",
                next_step="wait for it to end, or choose another --output",
            ) from error
        sync_folder(self.path.parent)
        try:
            self._load()
        except BaseException:
            self._file.close()
            raise
        return self

    def _opened(self) -> BinaryIO:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            return self.path.open("ab")
        except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
            raise InputError(
                str(self.path),
                found=InWords("something else in the place of a folder, or of the journal"),
                allowed="a new folder, or that of a run which is continued",
                next_step="choose another --output",
            ) from error
        except OSError as error:
            raise OutsideError(
                str(self.path),
                found=InWords(error.strerror or str(error)),
                allowed="a folder with room that can be written",
                next_step="free space or choose another --output",
            ) from error

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._file:
            self._file.close()

    def append(
        self,
        event: Event,
        *,
        pair: str | None = None,
        attempt: str | None = None,
        arm: ArmName | None = None,
        run_identity: str | None = None,
        project: str | None = None,
        reason: str | None = None,
        detail: str = "",
        sha256: str | None = None,
    ) -> JournalLine:
        """Write one line and make it durable; the caller acts only afterwards."""
        if self._file is None:
            raise RuntimeError("the journal is not open")
        with self._guard:
            line = JournalLine(
                n=len(self.lines) + 1,
                at=self._clock(),
                event=event,
                pair=pair,
                attempt=attempt,
                arm=arm,
                run_identity=run_identity,
                project=project,
                reason=reason,
                detail=detail,
                sha256=sha256,
            )
            self._file.write(line.canonical() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
            self.lines.append(line)
        return line

    def _load(self) -> None:
        data = self.path.read_bytes()
        whole, cut = data[: data.rfind(b"\n") + 1], data[data.rfind(b"\n") + 1 :]
        for number, text in enumerate(whole.splitlines(), start=1):
            line = read(JournalLine, text, f"{self.path}: line {number}")
            if line.n != number:
                raise InputError(
                    f"{self.path}: line {number}",
                    "n",
                    found=line.n,
                    allowed=f"{number}, for lines are numbered without gaps",
                    next_step="restore the journal from a copy; it is never edited",
                )
            self.lines.append(line)
        if cut:
            self._put_aside(cut, len(whole))

    def _put_aside(self, cut: bytes, whole_bytes: int) -> None:
        """Keep the bytes of a line that a crash cut, and end the journal before them."""
        self.set_aside = self.path.with_name(f"{self.path.name}.cut-after-{len(self.lines)}")
        write_atomically(self.set_aside, cut)
        os.truncate(self.path, whole_bytes)


@dataclass
class AttemptState:
    """What the journal knows of one attempt."""

    pair: str
    attempt: str
    is_finished: bool = False
    reason: str | None = None
    receipt_sha256: str | None = None
    arms_started: list[ArmName] = field(default_factory=list)
    arms_finished: dict[ArmName, str | None] = field(default_factory=dict)
    open_restores: dict[str, str | None] = field(default_factory=dict)  # run identity -> project


def attempts(lines: list[JournalLine]) -> dict[str, dict[str, AttemptState]]:
    """Read the state of each attempt out of a journal.

    Returns:
        Pair id to attempt id to state, both in the order in which they began.
    """
    states: dict[str, dict[str, AttemptState]] = {}
    for line in lines:
        if line.pair is None or line.attempt is None:
            continue
        of_pair = states.setdefault(line.pair, {})
        state = of_pair.setdefault(line.attempt, AttemptState(line.pair, line.attempt))
        _apply(state, line)
    return states


def _apply(state: AttemptState, line: JournalLine) -> None:
    if line.event == "arm-started" and line.arm:
        state.arms_started.append(line.arm)
    elif line.event == "arm-finished" and line.arm:
        state.arms_finished[line.arm] = line.sha256
    elif line.event == "restore-started" and line.run_identity:
        state.open_restores[line.run_identity] = None
    elif line.event == "restored" and line.run_identity:
        state.open_restores[line.run_identity] = line.project
    elif line.event == "destroyed" and line.run_identity:
        state.open_restores.pop(line.run_identity, None)
    elif line.event in {"attempt-finished", "attempt-interrupted"}:
        state.is_finished = True
        state.reason = line.reason
        state.receipt_sha256 = line.sha256


def last_event(path: Path) -> Event | None:
    """Return the event of a journal's last whole line; None when there is none."""
    lines = path.read_bytes().splitlines() if path.exists() else []
    return read(JournalLine, lines[-1], str(path)).event if lines else None
