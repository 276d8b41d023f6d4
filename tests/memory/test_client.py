from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from memory.memory_builder import (
    IDENTITY,
    NOTES,
    REFERENCE,
    TOPIC,
    graph_bytes,
    pinned,
    provisioner,
    restored,
    write_fixture,
)

from benchlib.contracts.fixture import Fixture
from benchlib.errors import InputError
from benchlib.memory import (
    ProvisionerError,
    destroy,
    destroy_after_crash,
    read_after,
    read_back,
    restore,
    snapshot,
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "fixture"


@pytest.fixture
def fixture(root: Path) -> Fixture:
    return write_fixture(root)


def test_a_memory_is_believed_after_two_equal_snapshots(
    tmp_path: Path, root: Path, fixture: Fixture
) -> None:
    memory = restored(root, fixture, tmp_path / "m")
    evidence = read_back(provisioner(), memory, fixture=fixture)
    assert [call.verb for call in evidence.calls] == ["restore", "snapshot", "snapshot"]
    assert evidence.counts == {"nodes": 4, "edges": 2, "vectors": 4}
    assert evidence.probes["edge"].hits[0].id == "k-1"
    after = read_after(provisioner(), memory, evidence)
    assert after.state_after_sha256 == evidence.state_sha256
    assert len(after.calls) == 4


def test_a_memory_that_can_no_longer_be_read_after_the_agent_has_no_state_after(
    tmp_path: Path, root: Path, fixture: Fixture
) -> None:
    memory = restored(root, fixture, tmp_path / "m")
    evidence = read_back(provisioner(), memory, fixture=fixture)
    destroy(provisioner(), project=memory.project, working=memory.working)
    after = read_after(provisioner(), memory, evidence)
    assert after.state_after_sha256 is None
    assert after.calls[-1].reason == "nonzero-exit"


def test_a_memory_that_is_empty_on_purpose_is_believed_when_its_probes_miss(
    tmp_path: Path, root: Path, fixture: Fixture
) -> None:
    memory = restored(root, fixture, tmp_path / "m", graph_arm="none")
    evidence = read_back(provisioner(), memory, fixture=fixture)
    assert evidence.counts["nodes"] == 0
    assert all(not answer.hits for answer in evidence.probes.values())


def test_an_item_found_in_a_memory_that_is_empty_on_purpose_is_refused(
    tmp_path: Path, root: Path, fixture: Fixture
) -> None:
    arms = tuple(arm.model_copy(update={"probes_answer": False}) for arm in fixture.graph_arms)
    wrong = fixture.model_copy(update={"graph_arms": arms})
    memory = restored(root, wrong, tmp_path / "m")
    with pytest.raises(ProvisionerError) as caught:
        read_back(provisioner(), memory, fixture=wrong)
    assert caught.value.reason == "probe-unexpected"


def test_a_required_probe_that_misses_makes_the_memory_not_retrievable(
    tmp_path: Path, root: Path, fixture: Fixture
) -> None:
    probes = (fixture.probes[0].model_copy(update={"expected_id": "n-3"}),)
    wrong = fixture.model_copy(update={"probes": probes})
    memory = restored(root, wrong, tmp_path / "m")
    with pytest.raises(ProvisionerError) as caught:
        read_back(provisioner(), memory, fixture=wrong)
    assert caught.value.reason == "memory-not-retrievable"
    assert [call.reason for call in caught.value.calls] == [None, "memory-not-retrievable"]


@pytest.mark.parametrize("names", [["r-0123456789ab"], ["0123456789ab"]])
def test_a_name_that_holds_what_the_caller_forbids_is_refused(
    tmp_path: Path, root: Path, fixture: Fixture, names: list[str]
) -> None:
    memory = restored(root, fixture, tmp_path / "m")
    with pytest.raises(ProvisionerError) as caught:
        read_back(provisioner(), memory, fixture=fixture, unspeakable=names)
    assert caught.value.reason == "name-tells-arm"


def _link_outside(root: Path) -> None:
    outside = root.parent / "outside.jsonl"
    outside.write_bytes((root / "notes.jsonl").read_bytes())
    (root / "notes.jsonl").unlink()
    (root / "notes.jsonl").symlink_to(outside)


def _fifo(root: Path) -> None:
    (root / "notes.jsonl").unlink()
    os.mkfifo(root / "notes.jsonl")


def _folder(root: Path) -> None:
    (root / "notes.jsonl").unlink()
    (root / "notes.jsonl").mkdir()


def _device(root: Path) -> None:
    (root / "notes.jsonl").unlink()
    (root / "notes.jsonl").symlink_to("/dev/zero")


def _one_bit(root: Path) -> None:
    data = bytearray((root / "notes.jsonl").read_bytes())
    data[40] ^= 1
    (root / "notes.jsonl").write_bytes(data)


def _longer(root: Path) -> None:
    with (root / "notes.jsonl").open("ab") as file:
        file.write(b"\n")


HOSTILE: list[tuple[Callable[[Path], None], str]] = [
    (_link_outside, "artifact-escapes-root"),
    (_device, "artifact-escapes-root"),
    (_fifo, "artifact-missing"),
    (_folder, "artifact-missing"),
    (lambda root: (root / "notes.jsonl").unlink(), "artifact-missing"),
    (_one_bit, "artifact-digest-mismatch"),
    (_longer, "artifact-digest-mismatch"),
]


@pytest.mark.parametrize(("change", "reason"), HOSTILE)
def test_rows_31_to_34_an_artifact_that_is_not_the_pinned_one_starts_nothing(
    tmp_path: Path, root: Path, fixture: Fixture, change: Callable[[Path], None], reason: str
) -> None:
    change(root)
    started = tmp_path / "started"
    with pytest.raises(ProvisionerError) as caught:
        restored(root, fixture, tmp_path / "m", argv=("touch", str(started)))
    assert caught.value.reason == reason
    assert caught.value.call.milliseconds == 0
    assert not started.exists()


def test_a_link_that_stays_below_the_root_is_an_artifact_like_any_other(
    tmp_path: Path, root: Path, fixture: Fixture
) -> None:
    (root / "notes.jsonl").rename(root / "moved.jsonl")
    (root / "notes.jsonl").symlink_to("moved.jsonl")
    assert restored(root, fixture, tmp_path / "m").project == IDENTITY


def test_row_32_what_is_exchanged_after_the_look_reaches_nobody(
    tmp_path: Path, root: Path, fixture: Fixture
) -> None:
    """The provisioner exchanges the original, then loads: it reads its private copy."""
    original = root / "notes.jsonl"
    before = original.read_bytes()
    script = f': > {original}; exec "$@"'
    memory = restored(root, fixture, tmp_path / "m", argv=("sh", "-c", script, "sh", *REFERENCE))
    response = snapshot(provisioner(), project=memory.project, working=memory.working).response
    assert response.state.counts["nodes"] == 4
    assert original.read_bytes() != before


def test_an_original_that_was_changed_is_told_once_after_destroy(
    tmp_path: Path, root: Path, fixture: Fixture
) -> None:
    memory = restored(root, fixture, tmp_path / "m")
    _one_bit(root)
    first = destroy(provisioner(), project=memory.project, working=memory.working)
    second = destroy(provisioner(), project=memory.project, working=memory.working)
    assert (first.reason, second.reason) == ("artifact-digest-mismatch", None)
    assert not (memory.working / "state" / IDENTITY).exists()


def test_two_memories_share_no_file(tmp_path: Path, root: Path, fixture: Fixture) -> None:
    folders = [tmp_path / "m1", tmp_path / "m2"]
    for folder in folders:
        restored(root, fixture, folder)
    inodes = [
        {path.stat().st_ino for path in folder.rglob("*") if path.is_file()} for folder in folders
    ]
    assert not inodes[0] & inodes[1]
    copies = list((folders[0] / "state" / "artifacts").glob("[eg]*"))
    assert {oct(copy.stat().st_mode & 0o777) for copy in copies} == {"0o444"}


def test_the_questions_reach_a_memory_without_their_answers(
    tmp_path: Path, root: Path, fixture: Fixture
) -> None:
    memory = restored(root, fixture, tmp_path / "m")
    text = (memory.working / "state" / "artifacts" / "probes.json").read_text()
    asked = json.loads(text)["probes"]
    assert {frozenset(one) for one in asked} == {frozenset({"name", "kind", "query"})}
    assert "k-1" not in text


def test_a_provisioner_gets_the_listed_environment_and_nothing_else(
    tmp_path: Path, root: Path, fixture: Fixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "k")
    monkeypatch.setenv("HTTPS_PROXY", "p")
    monkeypatch.setenv("MEMORY_MODE", "plain")
    seen = tmp_path / "seen"
    argv = ("sh", "-c", f"env > {seen}; pwd >> {seen}; exit 7")
    with pytest.raises(ProvisionerError, match="exit status 7"):
        restore(
            provisioner(*argv, environment=["MEMORY_MODE", "NOT_SET"]),
            fixture_root=root,
            fixture=fixture,
            graph_arm="full",
            run_identity=IDENTITY,
            working=tmp_path / "m",
        )
    *lines, folder = seen.read_text().splitlines()
    values = dict(line.split("=", 1) for line in lines)
    shell = {"PWD", "OLDPWD", "SHLVL", "_"}
    expected = {"PATH", "HOME", "TMPDIR", "LANG", "TZ", "SOURCE_DATE_EPOCH", "MEMORY_MODE"}
    assert values.keys() - shell == expected
    assert folder == str(tmp_path / "m" / "state")
    assert values["HOME"] == str(tmp_path / "m" / "home")


@pytest.mark.parametrize(
    "identity", ["short", "UPPERCASE-1", "-r-000000", "r-treatment-1", "r-full-0001", "x" * 65]
)
def test_a_run_identity_that_tells_or_breaks_its_pattern_is_refused(
    tmp_path: Path, root: Path, fixture: Fixture, identity: str
) -> None:
    with pytest.raises(InputError) as caught:
        restore(
            provisioner(),
            fixture_root=root,
            fixture=fixture,
            graph_arm="full",
            run_identity=identity,
            working=tmp_path / "m",
        )
    assert caught.value.field == "run_identity"


def test_an_unknown_graph_arm_and_a_used_folder_are_bad_input(
    tmp_path: Path, root: Path, fixture: Fixture
) -> None:
    with pytest.raises(InputError, match="full, none"):
        restored(root, fixture, tmp_path / "m", graph_arm="other")
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "file").touch()
    with pytest.raises(InputError, match="not empty"):
        restored(root, fixture, tmp_path / "m")


def test_a_request_beyond_its_limit_is_bad_input_and_starts_nothing(
    tmp_path: Path, root: Path, fixture: Fixture
) -> None:
    tight = provisioner("false")
    limits = tight.limits.model_copy(update={"stdin_bytes": 100})
    with pytest.raises(InputError, match="at most 100 bytes"):
        restore(
            tight.model_copy(update={"limits": limits}),
            fixture_root=root,
            fixture=fixture,
            graph_arm="full",
            run_identity=IDENTITY,
            working=tmp_path / "m",
        )


def test_destroy_of_what_is_gone_or_never_was_is_well(tmp_path: Path) -> None:
    for project in (IDENTITY, "never.made:1"):
        assert destroy(provisioner(), project=project, working=tmp_path / "m").reason is None


def test_row_48_a_destroy_that_failed_is_recorded_and_works_the_next_time(tmp_path: Path) -> None:
    script = "test -e failed && printf '{\"ok\":true}' || { touch failed; echo busy >&2; exit 4; }"
    once = provisioner("sh", "-c", script)
    first = destroy(once, project=IDENTITY, working=tmp_path / "m")
    assert (first.reason, first.exit_status, first.stderr_head) == ("nonzero-exit", 4, "busy\\n")
    assert destroy(once, project=IDENTITY, working=tmp_path / "m").reason is None


@pytest.mark.parametrize("project", [None, IDENTITY])
def test_after_a_crash_a_memory_is_destroyed_by_name_or_run_identity(
    tmp_path: Path, root: Path, fixture: Fixture, project: str | None
) -> None:
    memory = restored(root, fixture, tmp_path / "m")
    call = destroy_after_crash(
        provisioner(), run_identity=IDENTITY, project=project, working=memory.working
    )
    assert call.reason is None
    assert not memory.working.exists()


def test_after_a_crash_that_took_the_folder_too_destroy_is_called_all_the_same(
    tmp_path: Path, root: Path, fixture: Fixture
) -> None:
    memory = restored(root, fixture, tmp_path / "m")
    shutil.rmtree(memory.working)
    called = tmp_path / "called"
    script = f"cat > {called}; printf '{{\"ok\":true}}'"
    call = destroy_after_crash(
        provisioner("sh", "-c", script), run_identity=IDENTITY, project=None, working=memory.working
    )
    assert call.reason is None
    assert called.read_text() == f'{{"project":"{IDENTITY}"}}\n'


def test_the_request_is_one_compact_object_and_a_line_end(
    tmp_path: Path, root: Path, fixture: Fixture
) -> None:
    seen = tmp_path / "seen"
    with pytest.raises(ProvisionerError):
        restored(root, fixture, tmp_path / "m", argv=("sh", "-c", f"cat > {seen}; exit 1"))
    data = seen.read_bytes()
    assert data.endswith(b"}\n")
    assert b" " not in data
    artifact = json.loads(data)["artifacts"]["graph"]
    copy = (tmp_path / "m" / "state" / artifact["path"]).read_bytes()
    assert artifact["path"] == "artifacts/graph.json"
    assert (artifact["bytes"], artifact["sha256"]) == (len(copy), hashlib.sha256(copy).hexdigest())


def test_two_clocks_that_differ_are_remarked_and_no_fault(
    tmp_path: Path, root: Path, fixture: Fixture
) -> None:
    answer = {"project": "p", "queue_before_count": 0, "restore_seconds": 200}
    script = f"printf '%s' '{json.dumps(answer)}'"
    memory = restored(root, fixture, tmp_path / "m", argv=("sh", "-c", script))
    assert memory.call.detail.startswith("it says 200.000 s, the runner measured 0.")
    assert memory.call.reason is None


def test_a_graph_of_another_schema_is_not_looked_into(
    tmp_path: Path, root: Path, fixture: Fixture
) -> None:
    (root / "full.json").write_bytes(graph_bytes([TOPIC], schema="other-2"))
    arm = fixture.graph_arms[0].model_copy(update={"graph": pinned(root, "full.json")})
    other = fixture.model_copy(update={"graph_arms": (arm,)})
    answer = json.dumps({"project": "p", "queue_before_count": 0, "restore_seconds": 0})
    script = f"cat > request; printf '%s' '{answer}'"
    memory = restored(root, other, tmp_path / "m", argv=("sh", "-c", script))
    assert memory.text_sha256s.keys() == {note["id"] for note in NOTES}
