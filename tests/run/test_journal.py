from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlib.errors import InputError, OutsideError, RefusedError
from benchlib.run.journal import Journal, attempts


def _clock() -> str:
    return "2026-01-01T00:00:00.000Z"


def _two_lines(path: Path) -> None:
    with Journal(path, _clock) as journal:
        journal.append("run-started")
        journal.append("attempt-started", pair="p1", attempt="a1")


@pytest.mark.parametrize("taken", ["run", "run/journal.jsonl/x"], ids=["a file", "a folder"])
def test_a_place_that_is_taken_is_bad_input(tmp_path: Path, taken: str) -> None:
    place = tmp_path / taken
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("here first")
    with pytest.raises(InputError) as refused, Journal(tmp_path / "run" / "journal.jsonl", _clock):
        pass
    assert "another --output" in refused.value.next_step
    assert place.read_text() == "here first"


def test_a_folder_that_cannot_be_made_is_trouble_outside() -> None:
    with pytest.raises(OutsideError), Journal(Path("/proc/nowhere/journal.jsonl"), _clock):
        pass


def test_a_line_is_on_disk_when_append_returns(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with Journal(path, _clock) as journal:
        journal.append("run-started")
        assert path.read_bytes().count(b"\n") == 1


@given(cut=st.integers(min_value=1, max_value=40))
def test_a_last_line_that_a_crash_cut_is_set_aside_and_reported(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    path = tmp_path_factory.mktemp("journal") / "journal.jsonl"
    _two_lines(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    with Journal(path, _clock) as journal:
        assert [line.event for line in journal.lines] == ["run-started"]
        assert journal.set_aside is not None
        assert journal.set_aside.read_bytes() == whole[len(whole.splitlines()[0]) + 1 : -cut]
    with Journal(path, _clock) as again:
        assert again.set_aside is None
        assert len(again.lines) == 1


def test_a_damaged_earlier_line_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    _two_lines(path)
    path.write_bytes(path.read_bytes().replace(b'"n":1', b'"n":x', 1))
    with pytest.raises(InputError) as caught, Journal(path, _clock):
        pass
    assert caught.value.place.endswith("line 1")


def test_a_line_taken_out_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    _two_lines(path)
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[1])
    with pytest.raises(InputError) as caught, Journal(path, _clock):
        pass
    assert caught.value.field == "n"
    assert caught.value.allowed.startswith("1,")


def _hold(path: Path, ready: object, done: object) -> None:
    with Journal(path, _clock):
        ready.set()  # type: ignore[attr-defined]
        done.wait(20)  # type: ignore[attr-defined]


def test_two_runners_cannot_hold_one_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    context = multiprocessing.get_context("spawn")
    ready, done = context.Event(), context.Event()
    other = context.Process(target=_hold, args=(path, ready, done))
    other.start()
    try:
        assert ready.wait(20)
        with pytest.raises(RefusedError) as caught, Journal(path, _clock):
            pass
        assert "another runner" in caught.value.found
    finally:
        done.set()
        other.join(20)


def test_the_journal_tells_which_memories_may_still_be_there(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal.jsonl", _clock) as journal:
        journal.append("attempt-started", pair="p1", attempt="a1")
        for identity in ("r-00000001", "r-00000002", "r-00000003"):
            journal.append("restore-started", pair="p1", attempt="a1", run_identity=identity)
        journal.append(
            "restored", pair="p1", attempt="a1", run_identity="r-00000002", project="m-2"
        )
        journal.append("destroyed", pair="p1", attempt="a1", run_identity="r-00000003")
        state = attempts(journal.lines)["p1"]["a1"]
    assert state.open_restores == {"r-00000001": None, "r-00000002": "m-2"}
    assert not state.is_finished
