"""Every started attempt is a row, and what counts is the latest valid one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from analysis.support import SHA, ReceiptsBuilder, make_cohort, planned

from benchlib.analysis import frames, tables
from benchlib.analysis.emission import declared_rows
from benchlib.analysis.frames import ARM_COLUMNS, PAIR_COLUMNS, load
from benchlib.analysis.table_files import Table, build_table
from benchlib.contracts.reading import StrictJsonError, parse
from benchlib.errors import InputError, RefusedError

CASES = Path(__file__).parents[1] / "cases" / "analysis"


def made(receipts: frames.Receipts, name: str, **settings: int) -> Table:
    """Return a table as a plan would emit it."""
    frame = getattr(tables, name)(receipts, **settings)
    output = tables.OUTPUTS[name]
    return build_table("test", output, declared_rows(output, frame), "a" * 64)


def states(receipts: frames.Receipts) -> dict[str, Any]:
    return {str(row["state"]): row["count"] for row in made(receipts, "attempts").records()}


def test_the_latest_valid_attempt_counts_and_the_earlier_one_stays(demo: ReceiptsBuilder) -> None:
    receipts = load(demo.root)
    of_first = receipts.pairs[receipts.pairs["pair"] == "rename-populated-1"]
    assert list(of_first["attempt"]) == ["a1", "a2"]
    assert list(of_first["status"]) == ["void", "completed"]
    assert list(of_first["counts"]) == [False, True]
    assert len(receipts.counted) == 12
    assert len(receipts.counted_arms) == 24


def test_a_later_void_attempt_does_not_take_a_valid_one_away(demo: ReceiptsBuilder) -> None:
    pair = demo.cohort.pairs[1]
    demo.pair(pair, "a2", control=demo.arm(pair, "a2", "control", reason="sandbox-failed"))
    receipts = load(demo.root)
    assert list(receipts.counted[receipts.counted["pair"] == pair.id]["attempt"]) == ["a1"]


def test_the_columns_have_their_declared_types_also_without_rows(tmp_path: Path) -> None:
    empty = ReceiptsBuilder(tmp_path / "in", make_cohort((planned("p1"),)))
    receipts = load(empty.root)
    assert {name: str(dtype) for name, dtype in receipts.pairs.dtypes.items()} == PAIR_COLUMNS
    assert {name: str(dtype) for name, dtype in receipts.arms.dtypes.items()} == ARM_COLUMNS


def strict_lines() -> tuple[list[dict[str, Any]], list[str]]:
    """Read the case strictly: a line that is no strict JSON is refused by name."""
    kept, broken = [], []
    for line in (CASES / "attempts.jsonl").read_bytes().splitlines():
        try:
            kept.append(parse(line))
        except StrictJsonError as error:
            broken.append(error.reason)
            kept.append(json.loads(line))
    return kept, broken


def test_trouble_with_the_machine_is_not_a_zero(tmp_path: Path) -> None:
    lines, broken = strict_lines()
    assert broken == ["non-finite-number"]
    reasons = {
        "p3": "verifier-no-verdict",
        "p4": "image-missing",
        "p5": "provider-failed",
        "p6": "reward-not-finite",
    }
    names = sorted({str(line["pair"]) for line in lines})
    case = ReceiptsBuilder(
        tmp_path / "in", make_cohort(tuple(planned(name, f"task-{name}") for name in names))
    )
    for pair in case.cohort.pairs:
        arms = {}
        for line in lines:
            if line["pair"] == pair.id:
                arm = "control" if line["arm"] == "control" else "treatment"
                is_void = pair.id in reasons and arm == "treatment"
                told: dict[str, Any] = (
                    {"reason": reasons[pair.id], "detail": line["note"]}
                    if is_void
                    else {"reward": line["verifier"]["reward"]}
                )
                arms[arm] = case.arm(pair, "a1", arm, **told)
        case.pair(pair, "a1", **arms)
    receipts = load(case.root)
    found = states(receipts)
    assert (found["attempts-started"], found["pairs-with-outcome"]) == (6, 2)
    assert found["attempts-void"] == 4
    voids = {
        (row["reason"], row["arm"]): row["attempts"] for row in made(receipts, "voids").records()
    }
    assert voids == {(reason, "treatment"): 1 for reason in reasons.values()}
    balance = made(receipts, "void_balance").records()[0]
    assert (balance["lost_to_treatment"], balance["lost_to_control"]) == (4, 0)
    assert balance["is_balanced"] is False
    overall = made(receipts, "paired").records()[0]
    assert (overall["challenge"], overall["pairs"], overall["lost"]) == ("(all)", 2, 1)
    listed = {
        row["pair"]: (row["outcome"], row["reason"]) for row in made(receipts, "pairs").records()
    }
    assert listed["p1"] == ("gained", None)
    assert listed["p2"] == ("lost", None)
    assert listed["p3"] == (None, "verifier-no-verdict")


def test_a_void_of_the_pair_alone_is_nobodys_fault(demo: ReceiptsBuilder) -> None:
    pair = demo.cohort.pairs[0]
    demo.pair(pair, "a3", control=demo.arm(pair, "a3", "control", reward=1))
    voids = made(load(demo.root), "voids").records()
    assert {(row["reason"], row["arm"]) for row in voids} == {
        ("premise-difference", "pair"),
        ("provider-failed", "treatment"),
    }


def journal(demo: ReceiptsBuilder, *lines: dict[str, object], rest: bytes = b"") -> None:
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    (demo.root / "receipts" / "journal.jsonl").write_bytes(data + rest)


def begun(number: int, pair: str, attempt: str) -> dict[str, object]:
    return {
        "n": number,
        "at": "2026-01-01T00:00:00Z",
        "event": "attempt-started",
        "pair": pair,
        "attempt": attempt,
    }


def test_an_attempt_that_left_only_a_journal_line_is_still_an_attempt(
    demo: ReceiptsBuilder,
) -> None:
    journal(demo, begun(1, "rename-populated-1", "a1"), begun(2, "rename-populated-2", "a2"))
    receipts = load(demo.root)
    is_open = receipts.pairs[receipts.pairs["status"] == "open"]
    assert list(is_open["pair"]) == ["rename-populated-2"]
    assert list(is_open["reason"]) == ["no-receipt"]
    assert len(receipts.counted) == 12


def test_a_journal_cut_in_its_last_line_is_set_aside_and_said(demo: ReceiptsBuilder) -> None:
    journal(demo, begun(1, "rename-populated-1", "a1"), rest=b'{"n": 2, "at"')
    assert load(demo.root).set_aside == ("the journal's last line was cut off after 13 bytes",)


def test_a_journal_damaged_earlier_is_an_error(demo: ReceiptsBuilder) -> None:
    journal(demo, {"n": 1}, begun(2, "rename-populated-1", "a1"))
    with pytest.raises(InputError, match="line 1"):
        load(demo.root)


@pytest.mark.parametrize(
    ("field", "value"),
    [("verifier_sha256", SHA["b"]), ("model", "m-1-2026-03"), ("limits_sha256", SHA["c"])],
)
def test_two_comparability_keys_never_share_a_line(
    demo: ReceiptsBuilder, field: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = demo.key(demo.cohort.pairs[0]).model_copy(update={field: value})
    monkeypatch.setattr(demo, "key", lambda _: other)
    demo.outcome(demo.cohort.pairs[1], 0, 1)
    with pytest.raises(RefusedError) as refused:
        load(demo.root)
    assert refused.value.field == f"key.{field}"
    assert value in refused.value.found
    assert " -> " in refused.value.found


def test_another_build_under_test_shares_the_line(demo: ReceiptsBuilder) -> None:
    path = demo.root / "receipts" / "rename-populated-2" / "a1" / "pair.json"
    receipt = json.loads(path.read_bytes())
    path.write_text(json.dumps(receipt | {"build_under_test": "reference 0.2.0"}))
    assert load(demo.root).pairs["build_under_test"].nunique() == 2


def edit(demo: ReceiptsBuilder, path: str, **changes: object) -> None:
    file = demo.root / "receipts" / path
    file.write_text(json.dumps(json.loads(file.read_bytes()) | changes))


@pytest.mark.parametrize(
    ("path", "changes", "word"),
    [
        ("rename-populated-2/a1/treatment/receipt.json", {"reward": 0}, "never edited"),
        ("rename-populated-2/a1/pair.json", {"pair": "rename-populated-3"}, "as the folder"),
        ("rename-populated-2/a1/pair.json", {"cohort": "other"}, "cohort_version"),
        ("rename-populated-2/a1/pair.json", {"cohort_version": 2}, "cohort_version"),
        ("rename-populated-2/a1/pair.json", {"lock_sha256": "2" * 64}, "lock_sha256"),
        ("rename-populated-2/a1/pair.json", {"more": 1}, "more"),
    ],
)
def test_receipts_that_were_edited_or_belong_elsewhere_are_refused(
    demo: ReceiptsBuilder, path: str, changes: dict[str, object], word: str
) -> None:
    edit(demo, path, **changes)
    with pytest.raises(InputError) as refused:
        load(demo.root)
    assert word in str(refused.value)


def test_receipts_of_a_pair_that_nobody_planned_are_refused(demo: ReceiptsBuilder) -> None:
    demo.outcome(planned("stray"), 0, 1)
    with pytest.raises(InputError, match="stray"):
        load(demo.root)


def test_a_linked_attempt_is_refused(demo: ReceiptsBuilder, tmp_path: Path) -> None:
    folder = demo.root / "receipts" / "rename-populated-2" / "a1"
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="a link"):
        load(demo.root)


def test_an_arm_that_a_later_attempt_joined_counts_once(demo: ReceiptsBuilder) -> None:
    pair = demo.cohort.pairs[0]
    kept = demo.arm(pair, "a1", "control", reward=0)
    demo.outcome(pair, 0, 1, "a2")
    receipt = demo.pair(
        pair, "a3", control=kept, treatment=demo.arm(pair, "a3", "treatment", reward=1)
    )
    joined = [
        digest.model_copy(update={"attempt": "a1" if digest.arm == "control" else "a3"})
        for digest in receipt.arms
    ]
    demo.write(receipt.model_copy(update={"arms": tuple(joined)}), {})
    folder = demo.root / "receipts" / pair.id / "a3" / "control"
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    receipts = load(demo.root)
    counted = receipts.counted_arms[receipts.counted_arms["pair"] == pair.id]
    assert sorted(zip(counted["arm"], counted["attempt"], strict=True)) == [
        ("control", "a1"),
        ("treatment", "a3"),
    ]
