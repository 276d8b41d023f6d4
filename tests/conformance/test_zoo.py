"""One misbehaving provisioner for each row of the protocol's table, and what the kit says of it."""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from conformance.programs import HERE, LIMITS, Check, program

from benchlib.contracts.cohort import Provisioner, ProvisionerLimits
from benchlib.contracts.provisioner import ProvisionerCall, SnapshotResponse
from benchlib.memory import (
    ConformanceReport,
    ProvisionerError,
    Restored,
    destroy,
    read_back,
    restore,
    snapshot,
)
from benchlib.memory.conformance import KIT, kit_fixture

FIRST_STEP = [
    (1, "row_01_prints_nothing", "", "not-json"),
    (2, "row_02_exits_3", "", "nonzero-exit"),
    (3, "row_03_segfaults", "", "killed-by-signal"),
    (4, "row_04_two_objects", "", "trailing-data"),
    (5, "row_05_done", "", "trailing-data"),
    (6, "row_06_banner", "", "not-json"),
    (7, "row_07_no_object", "array", "not-an-object"),
    (7, "row_07_no_object", "string", "not-an-object"),
    (7, "row_07_no_object", "null", "not-an-object"),
    (8, "row_08_extra_field", "", "unknown-field"),
    (9, "row_09_extra_in_hit", "", "unknown-field"),
    (10, "row_10_project_twice", "", "duplicate-key"),
    (11, "row_11_deep_duplicate", "", "duplicate-key"),
    (12, "row_12_not_finite", "NaN", "non-finite-number"),
    (12, "row_12_not_finite", "Infinity", "non-finite-number"),
    (12, "row_12_not_finite", "1e999", "non-finite-number"),
    (13, "row_13_queue", "true", "wrong-type"),
    (13, "row_13_queue", '"0"', "wrong-type"),
    (13, "row_13_queue", "0.0", "wrong-type"),
    (13, "row_13_queue", "-1", "wrong-type"),
    (13, "row_13_queue", "1152921504606846976", "wrong-type"),
    (14, "row_14_missing_field", "", "missing-field"),
    (15, "row_15_encoding", "utf-16", "not-utf8"),
    (15, "row_15_encoding", "utf-16-without-mark", "not-json"),
    (15, "row_15_encoding", "mark", "not-utf8"),
    (15, "row_15_encoding", "surrogate", "not-utf8"),
    (15, "row_15_encoding", "byte", "not-utf8"),
    (16, "row_16_half_an_object", "", "timeout"),
    (17, "row_17_never_exits", "", "timeout"),
    (18, "row_18_closes_stdout", "", "timeout"),
    (19, "row_19_child_holds_stdout", "", "left-children"),
    (20, "row_20_daemon", "", "left-children"),
    (21, "row_21_ignores_sigterm", "", "timeout"),
    (22, "row_22_prints_for_ever", "", "output-too-large"),
    (23, "row_23_pads_to_size", "65537", "output-too-large"),
    (30, "row_30_nested", "", "not-json"),
    (36, "row_36_loads_nothing", "", "memory-empty"),
    (37, "row_37_loads_later", "", "queue-not-drained"),
    (38, "row_38_still_loading", "", "state-changed-by-reading"),
    (39, "row_39_echoes", "", "memory-not-retrievable"),
    (40, "row_40_probe_names", "left-out", "probe-missing"),
    (40, "row_40_probe_names", "renamed", "probe-missing"),
    (40, "row_40_probe_names", "added", "probe-unexpected"),
    (41, "row_41_text_for_meaning", "", "memory-not-retrievable"),
    (42, "row_42_text_for_edges", "", "memory-not-retrievable"),
    (43, "row_43_first_page", "", "memory-empty"),
    (45, "row_45_project_names", "path", "wrong-type"),
    (45, "row_45_project_names", "blank", "wrong-type"),
    (45, "row_45_project_names", "line", "wrong-type"),
    (45, "row_45_project_names", "long", "wrong-type"),
    (45, "row_45_project_names", "empty", "wrong-type"),
    (46, "row_46_telling_name", "", "name-tells-arm"),
    (53, "row_53_asks", "", "nonzero-exit"),
    (54, "row_54_counts_reads", "", "state-changed-by-reading"),
    (55, "row_55b_forks", "", "left-children"),
]


@pytest.mark.parametrize(
    ("name", "word", "reason"),
    [pytest.param(*row, id=f"{number}-{row[0][4:]}-{row[1]}") for number, *row in FIRST_STEP],
)
def test_what_is_wrong_at_once_has_its_reason(
    check: Check, name: str, word: str, reason: str
) -> None:
    report = check(*program(name, *([word] if word else [])))
    assert report.wrong[0].reason == reason
    assert not report.is_complete
    assert report.wrong[0].sentence in report.in_words()


LATER_STEPS = [
    (44, "row_44_clock_in_state", "the same content in a fresh project", "state-digest-mismatch"),
    (47, "row_47_keeps_data", "destroy one of two", "destroyed-but-readable"),
    (48, "row_48_destroy_fails_once", "destroy one of two", "nonzero-exit"),
    (50, "row_50_merges", "a second restore into a live project", "restored-twice"),
]


@pytest.mark.parametrize(
    ("name", "step", "reason"),
    [pytest.param(*row, id=f"{number}-{row[0][4:]}") for number, *row in LATER_STEPS],
)
def test_what_is_wrong_later_is_found_on_the_good_path(
    check: Check, name: str, step: str, reason: str
) -> None:
    report = check(*program(name))
    assert report.wrong[0].reason == reason
    assert report.wrong[0].step.startswith(step)
    assert report.is_complete


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("row_49_destroys_all", "destroy one of two"),
        ("row_49b_one_store", "an empty content, beside the others"),
    ],
)
def test_row_49_projects_in_one_store_must_know_nothing_of_each_other(
    check: Check, tmp_path: Path, name: str, step: str
) -> None:
    store = tmp_path / "store"
    store.mkdir()
    report = check(*program(name, str(store)))
    assert (report.wrong[0].step, report.wrong[0].reason) == (step, "projects-not-apart")


class Calls(NamedTuple):
    """One memory from restore to destroy, called by the client without the kit."""

    restored: Restored
    state: SnapshotResponse
    destroyed: ProvisionerCall


def _provisioner(argv: Sequence[str], limits: ProvisionerLimits = LIMITS) -> Provisioner:
    return Provisioner(
        name="odd",
        build="1",
        argv=tuple(argv),
        serve=("false",),
        embedding="lexical",
        limits=limits,
    )


def _restore(provisioner: Provisioner, working: Path) -> Restored:
    return restore(
        provisioner,
        fixture_root=KIT,
        fixture=kit_fixture(),
        graph_arm="whole",
        run_identity="r-odd-000001",
        working=working,
    )


def _call_all(folder: Path, argv: Sequence[str]) -> Calls:
    provisioner = _provisioner(argv)
    restored = _restore(provisioner, folder / "memory")
    project, working = restored.project, restored.working
    answer = snapshot(provisioner, project=project, working=working)
    return Calls(restored, answer.response, destroy(provisioner, project=project, working=working))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("row_27_never_reads", ()),
        ("row_27_never_reads", ("late",)),  # row 28: it reads after it has printed
        ("row_23_pads_to_size", ("65536",)),
    ],
)
def test_what_is_odd_and_keeps_the_protocol_succeeds(
    tmp_path: Path, name: str, words: Sequence[str]
) -> None:
    calls = _call_all(tmp_path, program(name, *words))
    assert calls.state.state.counts == {"items": 51}
    assert calls.destroyed.reason is None


def test_row_24_stderr_without_end_is_cut_and_counted(tmp_path: Path) -> None:
    call = _call_all(tmp_path, program("row_24_stderr_floods")).restored.call
    assert call.stderr_bytes == 20_000_000
    assert len(call.stderr_head) == 2048


def test_row_25_stderr_is_never_parsed(tmp_path: Path) -> None:
    restored = _call_all(tmp_path, program("row_25_stderr_answers")).restored
    assert restored.project == "r-odd-000001"
    assert '"project": "other"' in restored.call.stderr_head


def test_row_26_stderr_is_shown_escaped(tmp_path: Path) -> None:
    head = _call_all(tmp_path, program("row_26_stderr_escapes")).restored.call.stderr_head
    assert head.startswith(r"\x1b]0;owned\x07\x1b[2J\x00yyy")
    assert head.isprintable()


def test_row_22_a_flood_ends_at_once_and_costs_no_memory(check: Check) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    call = _restore_call(check(*program("row_22_prints_for_ever")))
    assert call.milliseconds < 2500, "ended at the limit of bytes, before that of time"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000


@pytest.mark.parametrize("kind", ["missing", "not-executable", "a-folder", "wrong-architecture"])
def test_row_29_what_cannot_be_started_is_a_spawn_failure(
    check: Check, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / kind
    if kind == "a-folder":
        path.mkdir()
    elif kind != "missing":
        elf_for_no_machine = b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00\xff\xff" + bytes(100)
        path.write_bytes(elf_for_no_machine)
        path.chmod(0o755 if kind == "wrong-architecture" else 0o644)
    report = check(str(path))
    assert report.wrong[0].reason == "spawn-failed"


@pytest.mark.parametrize(("seconds", "reason"), [(0, "queue-not-drained"), (30, None)])
def test_row_37_a_queue_may_drain_within_what_the_plan_allows(
    tmp_path: Path, seconds: int, reason: str | None
) -> None:
    limits = LIMITS.model_copy(update={"queue_wait_seconds": seconds})
    provisioner = _provisioner(program("row_37_loads_later"), limits)
    restored = _restore(provisioner, tmp_path / "memory")
    found = None
    try:
        read_back(provisioner, restored, fixture=kit_fixture())
    except ProvisionerError as error:
        found = error.reason
    assert found == reason


def test_row_35_a_changed_artifact_is_noticed_also_where_nothing_is_read_only(
    check: Check,
) -> None:
    report = check(*program("row_35_writes_to_artifact"))
    assert report.wrong[0].reason in {"artifact-digest-mismatch", "nonzero-exit"}
    status = _restore_call(report).exit_status
    assert (report.wrong[0].reason == "nonzero-exit") == (status != 0)


def test_row_51_without_a_network_it_fails_and_does_not_hang(check: Check) -> None:
    alone = ("unshare", "--user", "--map-root-user", "--net")
    can = subprocess.run([*alone, "true"], check=False, capture_output=True).returncode == 0
    report = check(*(alone if can else ()), *program("row_51_calls_home"))
    assert report.wrong[0].reason in ({"nonzero-exit"} if can else {"nonzero-exit", "timeout"})
    if can:
        assert "Network is unreachable" in _restore_call(report).stderr_head


def test_row_52_files_in_home_are_remarked(check: Check) -> None:
    report = check(*program("row_52_writes_home"))
    assert report.passed
    assert any(".cache/telemetry/device-id" in remark for remark in report.remarks)
    assert report.in_words().endswith("It keeps the protocol.")


def test_row_55_a_sandbox_that_holds_the_memory_makes_a_clean_failure(check: Check) -> None:
    held = (shutil.which("prlimit") or "prlimit", "--as=400000000")
    report = check(*held, *program("row_55_takes_memory"))
    assert report.wrong[0].reason == "nonzero-exit"
    assert "MemoryError" in _restore_call(report).stderr_head


def test_the_embedded_system_passes_as_anybodys_would(check: Check) -> None:
    report = check(sys.executable, "-B", "-m", "benchlib.memory.reference")
    assert report.passed, report.in_words()
    assert report.remarks == ()
    assert len(report.steps) == 9


def test_the_example_that_the_readme_shows_passes(check: Check) -> None:
    report = check(sys.executable, "-B", str(HERE / "example_provisioner.py"))
    assert report.passed, report.in_words()
    assert report.remarks == (
        "it does not answer semantic probes: a fixture that requires one refuses it",
        "it does not answer graph probes: a fixture that requires one refuses it",
    )


def _restore_call(report: ConformanceReport) -> ProvisionerCall:
    return next(call for call in report.calls if call.verb == "restore")
