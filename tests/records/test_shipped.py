"""What the repository ships as a result was really run, and says so of itself."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchlib.contracts.attempt import ArmReceipt
from benchlib.contracts.pair import PairReceipt
from benchlib.contracts.reading import read_file
from benchlib.records import analyze_frozen, open_plan
from benchlib.run.journal import Journal, attempts

COHORT = Path("cohorts/demo/v1")
RECEIPTS = Path("receipts/demo/v1")


def test_the_published_tables_regenerate_byte_for_byte(repository: Path, tmp_path: Path) -> None:
    analyze_frozen(
        repository / COHORT,
        receipts=repository / RECEIPTS,
        output=tmp_path,
        overwrite=False,
        progress=lambda _: None,
    )
    published = repository / COHORT / "tables"
    assert {path.name for path in published.iterdir()} == {
        path.name for path in (tmp_path / "tables").iterdir()
    }
    for path in published.iterdir():
        assert path.read_bytes() == (tmp_path / "tables" / path.name).read_bytes(), path.name


def test_nothing_moved_since_the_cohort_was_frozen(repository: Path) -> None:
    plan = open_plan(repository / COHORT)
    assert {proof.challenge for proof in plan.lock.proofs} == set(plan.cohort.challenges)


def test_each_receipt_is_the_one_that_its_journal_names(repository: Path, tmp_path: Path) -> None:
    copy = tmp_path / "journal.jsonl"  # an open journal is locked, and the shipped one is read-only
    copy.write_bytes((repository / RECEIPTS / "journal.jsonl").read_bytes())
    lock = open_plan(repository / COHORT).lock.canonical_sha256()
    with Journal(copy) as journal:
        states = attempts(journal.lines)
    for pair, of_pair in states.items():
        for attempt, state in of_pair.items():
            folder = repository / RECEIPTS / pair / attempt
            receipt = read_file(PairReceipt, folder / "pair.json")
            assert receipt.canonical_sha256() == state.receipt_sha256
            assert receipt.lock_sha256 == lock
            for digest in receipt.arms:
                arm = read_file(ArmReceipt, folder / digest.arm / "receipt.json")
                assert arm.canonical_sha256() == digest.sha256
                assert arm.model_kind == "scripted"


# Places inside an arm are no places of a machine: /workspace, /home/agent, /opt, /run, /tmp.
HOST_PATHS = re.compile(rb"/(?:root|Users|work|home/(?!agent\b))[/A-Za-z]")


@pytest.mark.parametrize("folder", [RECEIPTS, COHORT], ids=["receipts", "cohort"])
def test_no_path_of_a_machine_stands_in_what_is_shipped(repository: Path, folder: Path) -> None:
    for path in (repository / folder).rglob("*"):
        if path.is_file() and path.suffix != ".bundle":
            found = HOST_PATHS.search(path.read_bytes().replace(b"/workspace", b""))
            assert found is None, f"{path}: {found and found.group()!r}"
