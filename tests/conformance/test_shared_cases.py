"""Provisioners that went subtly wrong elsewhere, each with its right outcome.

They answer a snapshot with inner shapes of their own, which the protocol left open and
this kit fixed. ``adapted.py`` puts those into our shapes, so that each is judged by what
it gets wrong and not by its dialect.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from conformance.programs import HERE, LIMITS

from benchlib.contracts.cohort import Provisioner
from benchlib.contracts.fixture import Fixture
from benchlib.contracts.provisioner import ProvisionerCall
from benchlib.memory import ProvisionerError, destroy, read_back, restore
from benchlib.memory.conformance import KIT, kit_fixture

CASES = HERE.parent / "cases" / "apparatus" / "provisioners"
SHARED = HERE.parent.parent.parent / "shared" / "cases" / "apparatus" / "provisioners"


def _provisioner(name: str, *, wait_seconds: int = 0) -> Provisioner:
    return Provisioner(
        name=name.replace("_", "-"),
        build="1",
        argv=(sys.executable, "-B", str(HERE / "adapted.py"), str(CASES / f"{name}.py")),
        serve=("false",),
        embedding="unknown",
        limits=LIMITS.model_copy(update={"queue_wait_seconds": wait_seconds}),
    )


def _fixture() -> Fixture:
    """The kit's own, of which these stores say that they hold three items."""
    fixture = kit_fixture()
    arm = fixture.graph_arms[0].model_copy(update={"least_items": 3})
    return fixture.model_copy(update={"graph_arms": (arm,)})


def _outcome(provisioner: Provisioner, working: Path) -> tuple[str | None, ProvisionerCall]:
    """Restore and read back; whatever happens, destroy is called once."""
    reason = None
    project = "r-shared-0001"
    try:
        restored = restore(
            provisioner,
            fixture_root=KIT,
            fixture=_fixture(),
            graph_arm="whole",
            run_identity=project,
            working=working,
        )
        project = restored.project
        read_back(provisioner, restored, fixture=_fixture())
    except ProvisionerError as error:
        reason = error.reason
    return reason, destroy(provisioner, project=project, working=working)


RIGHT: Sequence[tuple[str, str | None, str | None]] = [
    ("good", None, None),
    ("empty_memory", "memory-empty", None),
    ("still_indexing", "queue-not-drained", None),
    ("banner_on_stdout", "not-json", "not-json"),
    ("two_objects", "trailing-data", "trailing-data"),
    ("extra_field", "unknown-field", None),
    ("duplicate_key", "duplicate-key", "unknown-field"),
    ("nan_seconds", "non-finite-number", None),
    ("ok_is_one", None, "wrong-type"),
    ("answer_then_fail", "nonzero-exit", "nonzero-exit"),
    ("flood", "output-too-large", "output-too-large"),
    ("leaves_child", "left-children", "left-children"),
]


@pytest.mark.parametrize(("name", "reason", "destroy_reason"), RIGHT)
def test_each_shared_provisioner_gets_its_right_outcome(
    tmp_path: Path, name: str, reason: str | None, destroy_reason: str | None
) -> None:
    found, destroyed = _outcome(_provisioner(name), tmp_path / "memory")
    assert found == reason
    assert destroyed.reason == destroy_reason


def test_a_refusal_names_system_verb_reason_and_limit(tmp_path: Path) -> None:
    said = r"^flood: restore: output-too-large\n.*more than the limit of 65536 bytes"
    with pytest.raises(ProvisionerError, match=said):
        restore(
            _provisioner("flood"),
            fixture_root=KIT,
            fixture=_fixture(),
            graph_arm="whole",
            run_identity="r-shared-0002",
            working=tmp_path / "memory",
        )


def test_a_flood_leaves_the_runners_memory_flat(tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    _outcome(_provisioner("flood"), tmp_path / "memory")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000


def test_chatter_on_stderr_is_kept_as_diagnostics(tmp_path: Path) -> None:
    _, destroyed = _outcome(_provisioner("good"), tmp_path / "memory")
    assert destroyed.stderr_head == r"restoring, please wait\n"


def test_a_queue_that_never_drains_is_waited_for_and_then_refused(tmp_path: Path) -> None:
    found, _ = _outcome(_provisioner("still_indexing", wait_seconds=2), tmp_path / "memory")
    assert found == "queue-not-drained"


def test_a_dialect_of_the_snapshot_is_refused_with_its_field(tmp_path: Path) -> None:
    provisioner = _provisioner("good").model_copy(
        update={"argv": (sys.executable, "-B", str(CASES / "good.py"))}
    )
    found, destroyed = _outcome(provisioner, tmp_path / "memory")
    assert found == "unknown-field"
    assert destroyed.reason is None


@pytest.mark.parametrize("name", [row[0] for row in RIGHT])
def test_the_copies_are_the_shared_cases(name: str) -> None:
    shared = SHARED / f"{name}.py"
    if SHARED.is_dir():
        assert (CASES / f"{name}.py").read_bytes() == shared.read_bytes()
    else:
        assert (CASES / f"{name}.py").is_file()
