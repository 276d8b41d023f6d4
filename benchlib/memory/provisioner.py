"""The client of a memory system: ``restore``, ``snapshot``, ``destroy``, and what they must prove.

The runner never learns a memory's schema. It hands over private copies of two files and
the questions (`artifacts/probes.json`, without the answers), and believes nothing that was
not read back: `read_back` takes two snapshots around an idle second and checks them
against the fixture.

A pair's folder holds `state`, the working folder of every call, `home` and `tmp`. What a
restore says of its own project is judged by `read_back`, so that the project is known by
then and can be destroyed. A memory whose name the runner never learnt, because it died or
the answer was refused, is destroyed by its *run identity*: a provisioner must accept that
as the name of whatever the restore had made so far, and does so for nothing when it names
its projects by their run identity.
"""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchlib.contracts.cohort import Provisioner
from benchlib.contracts.files import write_atomically
from benchlib.contracts.fixture import Artifact, Fixture, GraphArm
from benchlib.contracts.provisioner import (
    Artifacts,
    DestroyResponse,
    MemoryEvidence,
    ProjectRequest,
    ProvisionerCall,
    RestoreRequest,
    RestoreResponse,
    SnapshotResponse,
)
from benchlib.errors import InputError, InWords
from benchlib.memory._artifacts import ArtifactError, check_artifact, copy_artifact
from benchlib.memory._calls import Answer, PairFolder, ProvisionerError, ask, never_called
from benchlib.memory._checks import Fault, snapshot_fault
from benchlib.memory._names import telling_word
from benchlib.memory.evidence import text_sha256, texts_of

IDLE_SECONDS = 1.0
_POLL_SECONDS = 0.5
_RUN_IDENTITY = re.compile(r"[a-z0-9][a-z0-9-]{7,63}")


@dataclass(frozen=True)
class Restored:
    """A memory that says it was restored; `read_back` finds out whether it was."""

    project: str
    queue_count: int  # what waited to be indexed when restore ended
    arm: GraphArm
    working: Path
    request: RestoreRequest
    text_sha256s: Mapping[str, str]  # by id, of the items that it may answer with
    call: ProvisionerCall


def restore(
    provisioner: Provisioner,
    *,
    fixture_root: Path,
    fixture: Fixture,
    graph_arm: str,
    run_identity: str,
    working: Path,
) -> Restored:
    """Make a fresh memory of one graph of a fixture.

    Args:
        provisioner: The memory system.
        fixture_root: The folder that the fixture's artifacts lie below.
        fixture: The fixture.
        graph_arm: The id of one of its graph arms.
        run_identity: An opaque name, never used before; it also names what a crash leaves.
        working: The pair's folder; absent or empty.

    Returns:
        The memory as it describes itself. Give it to `read_back` before anything else.

    Raises:
        InputError: An argument, or the inside of an artifact, is wrong; nothing was started.
        ProvisionerError: An artifact is not the pinned one (nothing was started then), or
            the call failed. `destroy` by the run identity is due all the same.
    """
    begun = begin(
        provisioner,
        fixture_root=fixture_root,
        fixture=fixture,
        graph_arm=graph_arm,
        run_identity=run_identity,
        working=working,
    )
    answer = ask(provisioner, "restore", begun.request, RestoreResponse, begun.folder)
    _check_copies(provisioner, begun, answer.call)
    return Restored(
        project=answer.response.project,
        queue_count=answer.response.queue_before_count,
        arm=begun.arm,
        working=working,
        request=begun.request,
        text_sha256s=begun.text_sha256s,
        call=answer.call,
    )


@dataclass(frozen=True)
class Begun:
    """All that a restore needs, laid out and checked; nothing was started yet."""

    arm: GraphArm
    folder: PairFolder
    request: RestoreRequest
    text_sha256s: Mapping[str, str]


def begin(
    provisioner: Provisioner,
    *,
    fixture_root: Path,
    fixture: Fixture,
    graph_arm: str,
    run_identity: str,
    working: Path,
) -> Begun:
    """Do of `restore` what comes before the call; same arguments, same refusals."""
    arm = _graph_arm(fixture, graph_arm)
    _check_identity(run_identity, graph_arm)
    folder = _fresh(working)
    copies = _lay_out(provisioner, fixture, arm, fixture_root, folder)
    texts = texts_of(
        (folder.state / copies.evidence_corpus.path).read_bytes(),
        (folder.state / copies.graph.path).read_bytes(),
        fixture.id,
    )
    request = RestoreRequest(
        fixture=fixture.id, graph_arm=graph_arm, run_identity=run_identity, artifacts=copies
    )
    digests = {item: text_sha256(text) for item, text in texts.items()}
    return Begun(arm, folder, request, digests)


def snapshot(provisioner: Provisioner, *, project: str, working: Path) -> Answer[SnapshotResponse]:
    """Read a memory back once, without any check of what it says.

    Args:
        provisioner: The memory system.
        project: The memory's name.
        working: The pair's folder.

    Returns:
        The response and the record of the call.

    Raises:
        ProvisionerError: The call failed.
    """
    request = ProjectRequest(project=project)
    return ask(provisioner, "snapshot", request, SnapshotResponse, PairFolder(working))


def read_back(
    provisioner: Provisioner,
    restored: Restored,
    *,
    fixture: Fixture,
    unspeakable: Collection[str] = (),
) -> MemoryEvidence:
    """Prove that a restored memory is there, retrievable and at rest.

    1. Its name tells nothing. 2. Its queue is empty, at once or within the plan's
    `queue_wait_seconds`. 3. A snapshot keeps all checks against the fixture. 4. A second
    one, an idle second later, keeps them too and shows the same state.

    Args:
        provisioner: The memory system.
        restored: What `restore` returned.
        fixture: The same fixture.
        unspeakable: Names that the project's name may not hold, such as the cohort's.

    Returns:
        The evidence, for the receipt.

    Raises:
        ProvisionerError: A check failed; its reason voids the arm before it costs anything.
    """
    calls = [restored.call]

    def refuse_if(fault: Fault | None) -> None:
        if fault:
            failed = calls[-1].model_copy(update={"reason": fault.reason, "detail": fault.detail})
            calls[-1] = failed
            raise ProvisionerError(failed, name=provisioner.name, calls=tuple(calls))

    def take() -> SnapshotResponse:
        try:
            answer = snapshot(provisioner, project=restored.project, working=restored.working)
        except ProvisionerError as error:
            calls.append(error.call)
            raise ProvisionerError(error.call, name=provisioner.name, calls=tuple(calls)) from error
        calls.append(answer.call)
        return answer.response

    names = (restored.arm.id, fixture.id, *unspeakable)
    refuse_if(_name_fault(restored.project, names))
    first = _once_drained(provisioner, restored, take, refuse_if)
    arm, digests = restored.arm, restored.text_sha256s
    refuse_if(snapshot_fault(first, fixture.probes, arm, digests))
    time.sleep(IDLE_SECONDS)
    second = take()
    refuse_if(_change_fault(first, second))
    refuse_if(snapshot_fault(second, fixture.probes, arm, digests))
    return MemoryEvidence(
        project=restored.project,
        graph_arm=arm.id,
        graph_sha256=arm.graph.sha256,
        state_sha256=second.state.digest,
        counts=second.state.counts,
        probes=second.probes,
        state_after_sha256=None,
        calls=tuple(calls),
    )


def read_after(
    provisioner: Provisioner, restored: Restored, evidence: MemoryEvidence
) -> MemoryEvidence:
    """Add to the evidence what the memory's state is after the agent.

    Args:
        provisioner: The memory system.
        restored: What `restore` returned.
        evidence: What `read_back` returned.

    Returns:
        The evidence with `state_after_sha256`, None when it could not be read, and the call.
    """
    try:
        answer = snapshot(provisioner, project=restored.project, working=restored.working)
    except ProvisionerError as error:
        return evidence.model_copy(update={"calls": (*evidence.calls, error.call)})
    return evidence.model_copy(
        update={
            "state_after_sha256": answer.response.state.digest,
            "calls": (*evidence.calls, answer.call),
        }
    )


def destroy(provisioner: Provisioner, *, project: str, working: Path) -> ProvisionerCall:
    """Remove a memory; a second time, or one that never came to be, is no fault.

    Never raises for what the provisioner does: a destroy that fails is a record, and the
    journal has it done again at the next start. After it worked, the fixture's own files
    are hashed again; if one was changed, the record says so, once.

    Args:
        provisioner: The memory system.
        project: The memory's name, or its run identity where the name is not known.
        working: The pair's folder; made again when it is gone.

    Returns:
        The record; its reason is None when the memory is gone and the files are whole.
    """
    folder = PairFolder(working)
    request = ProjectRequest(project=project)
    try:
        call = ask(provisioner, "destroy", request, DestroyResponse, folder).call
    except ProvisionerError as error:
        return error.call
    fault = _originals_fault(folder)
    return call.model_copy(update=fault._asdict()) if fault else call


def destroy_after_crash(
    provisioner: Provisioner, *, run_identity: str, project: str | None, working: Path
) -> ProvisionerCall:
    """Remove what a runner that died had restored, or had begun to restore.

    The rule: a memory whose name was never learnt is destroyed by its run identity.

    Args:
        provisioner: The memory system.
        run_identity: The identity that was journaled before restore started.
        project: The project's name, if restore had answered.
        working: The pair's folder; removed when the memory is gone.

    Returns:
        The record of destroy.
    """
    call = destroy(provisioner, project=project or run_identity, working=working)
    if call.reason is None:
        shutil.rmtree(working, ignore_errors=True)
    return call


def _graph_arm(fixture: Fixture, name: str) -> GraphArm:
    for arm in fixture.graph_arms:
        if arm.id == name:
            return arm
    raise InputError(
        f"fixture {fixture.id}",
        "graph_arms",
        found=name,
        allowed=", ".join(arm.id for arm in fixture.graph_arms),
        next_step="name one of them in the condition",
    )


def _check_identity(run_identity: str, graph_arm: str) -> None:
    telling = telling_word(run_identity, (graph_arm,))
    if telling or not _RUN_IDENTITY.fullmatch(run_identity):
        raise InputError(
            "restore",
            "run_identity",
            found=run_identity,
            allowed="8 to 64 of a-z, 0-9 and -, not first -, without a word that tells the arm",
            next_step="make it of random hexadecimal digits",
        )


def _fresh(working: Path) -> PairFolder:
    if working.exists() and any(working.iterdir()):
        raise InputError(
            str(working),
            found=InWords("a folder that is not empty"),
            allowed="an absent or empty folder for each restored memory",
            next_step="choose another folder",
        )
    folder = PairFolder(working)
    folder.make()
    folder.artifacts.mkdir()
    return folder


def _lay_out(
    provisioner: Provisioner, fixture: Fixture, arm: GraphArm, root: Path, folder: PairFolder
) -> Artifacts:
    """Lay the private copies and the questions; remember what to hash again after destroy."""
    originals = (fixture.evidence_corpus, arm.graph)
    try:
        corpus, graph = (
            copy_artifact(artifact, root, folder.artifacts, name)
            for artifact, name in zip(originals, ("evidence-corpus", "graph"), strict=True)
        )
    except ArtifactError as error:
        call = never_called(provisioner, "restore", error.reason, error.detail)
        raise ProvisionerError(call, name=provisioner.name) from error
    asked = [
        {"name": probe.name, "kind": probe.kind, "query": probe.query} for probe in fixture.probes
    ]
    (folder.artifacts / "probes.json").write_text(json.dumps({"probes": asked}), encoding="utf-8")
    kept = {"root": str(root.resolve()), "artifacts": [one.model_dump() for one in originals]}
    write_atomically(folder.originals, json.dumps(kept).encode())
    return Artifacts(evidence_corpus=corpus, graph=graph)


def _check_copies(provisioner: Provisioner, begun: Begun, call: ProvisionerCall) -> None:
    """An administrator may write to read-only files: see whether the provisioner did."""
    try:
        for copy in (begun.request.artifacts.evidence_corpus, begun.request.artifacts.graph):
            check_artifact(copy, begun.folder.state)
    except ArtifactError as error:
        failed = call.model_copy(update={"reason": error.reason, "detail": error.detail})
        raise ProvisionerError(failed, name=provisioner.name) from error


def _originals_fault(folder: PairFolder) -> Fault | None:
    if not folder.originals.is_file():
        return None
    kept = json.loads(folder.originals.read_bytes())
    folder.originals.unlink()
    try:
        for artifact in kept["artifacts"]:
            check_artifact(Artifact(**artifact), Path(kept["root"]))
    except ArtifactError as error:
        return Fault(error.reason, error.detail)
    return None


def _name_fault(project: str, names: Collection[str]) -> Fault | None:
    telling = telling_word(project, names)
    if telling is None:
        return None
    return Fault("name-tells-arm", f"the project is named {project!r}, which holds {telling!r}")


def _once_drained(
    provisioner: Provisioner,
    restored: Restored,
    take: Callable[[], SnapshotResponse],
    refuse_if: Callable[[Fault | None], None],
) -> SnapshotResponse:
    """Take the first snapshot whose queue is empty, as long as the plan allows to wait."""
    allowed = provisioner.limits.queue_wait_seconds
    if restored.queue_count and not allowed:
        refuse_if(Fault("queue-not-drained", f"{restored.queue_count} items wait after restore"))
    deadline = time.monotonic() + allowed
    response = take()
    while response.queue_after_count and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
        response = take()
    return response


def _change_fault(first: SnapshotResponse, second: SnapshotResponse) -> Fault | None:
    if (first.state.digest, first.state.counts) == (second.state.digest, second.state.counts):
        return None
    return Fault("state-changed-by-reading", "two snapshots around an idle second differ")
