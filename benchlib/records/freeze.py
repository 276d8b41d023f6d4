"""Freezing a cohort, and opening it again: from the lock on, nothing moves in silence.

``freeze`` reads every input, prepares each workspace, proves each verifier and
writes one lock. ``open_plan`` is the only way to run or analyse a cohort: it reads
the lock, compares every pinned thing and names each one that moved.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from benchlib.analysis import pin_plan, read_plan
from benchlib.contracts.boundaries import JudgedProcess, Sandbox
from benchlib.contracts.files import write_atomically
from benchlib.contracts.plan import OpenPlan, PinnedTree, PlanLock, VerifierProof
from benchlib.contracts.reading import read_file
from benchlib.errors import DriftError, InputError, InWords, RefusedError
from benchlib.grade import prove, rehearse
from benchlib.records.cohort_files import (
    CohortFiles,
    inputs_of,
    raise_all,
    read_cohort,
    require_folder,
)
from benchlib.run import Prepared, audit, prepare_workspace

LOCK_NAME = "plan.lock.json"

Progress = Callable[[str], None]


def freeze(
    root: Path,
    *,
    repository: Path,
    sandbox: Sandbox,
    overwrite: bool,
    progress: Progress,
) -> PlanLock:
    """Pin everything that a run of the cohort rests on.

    Args:
        root: The cohort's folder.
        repository: The folder that holds ``notebooks/``.
        sandbox: Where verifiers are proved.
        overwrite: Whether a lock of other content may be replaced.
        progress: Told what is being done.

    Returns:
        The lock, as written.

    Raises:
        InputError: A file is wrong; nothing was written.
        RefusedError: Certification found something, or a verifier could not be proved.
    """
    files = read_cohort(root)
    notebook = repository / files.cohort.analysis.notebook
    plan = read_plan(notebook)
    plan_sha256 = plan.plan_sha256
    if plan_sha256 != files.cohort.analysis.plan_sha256:
        raise InputError(
            str(root / "cohort.json"),
            "analysis.plan_sha256",
            found=files.cohort.analysis.plan_sha256,
            allowed=f"the digest of {files.cohort.analysis.notebook}",
            next_step=f"write {plan_sha256}",
        )
    trees, proofs = [], []
    with tempfile.TemporaryDirectory(prefix="w-") as scratch:
        for challenge, fixture in files.workspaces:
            progress(f"preparing {challenge} on {fixture}")
            sandbox.preflight(files.challenges[challenge].environment)
            prepared = prepare_workspace(
                files.cohort,
                files.challenges[challenge],
                files.fixtures[fixture],
                root=root,
                work=Path(scratch),
                sandbox=sandbox,
            )
            sandbox.load(prepared.sealed)
            trees.append(_pinned_tree(prepared))
            progress(f"proving the verifier of {challenge}")
            proofs.append(_prove(files, prepared, sandbox, Path(scratch) / f"proof-{challenge}"))
            progress(f"rehearsing the reference solution of {challenge}")
            _rehearse(files, prepared, sandbox)
    pin_plan(plan, root)
    return write_lock(
        files,
        plan_sha256=plan_sha256,
        trees=tuple(trees),
        proofs=tuple(proofs),
        overwrite=overwrite,
    )


def _rehearse(files: CohortFiles, prepared: Prepared, sandbox: Sandbox) -> None:
    """Run the reference solution as an agent under the audit, before anybody pays for one."""
    challenge = prepared.challenge
    solution = files.root / challenge.reference_solution.path
    report = rehearse(challenge, prepared.sealed, solution, sandbox=sandbox, audit=audit)
    if report.undeclared:
        lines = sorted({one.declare_with or one.path for one in report.undeclared})
        paths = ", ".join(one.path for one in report.undeclared)
        raise RefusedError(
            str(files.root / "challenges" / f"{challenge.id}.json"),
            "allowed_outputs",
            found=InWords(f"the reference solution and its check also write {paths}"),
            allowed="outputs that cover all that a correct agent and its tools write",
            next_step=f"add {', '.join(lines)}",
        )


def _pinned_tree(prepared: Prepared) -> PinnedTree:
    return PinnedTree(
        challenge=prepared.challenge.id,
        fixture=prepared.fixture.id,
        commit=prepared.preparation.tree.commit,
        sealed_sha256=prepared.sealed.sha256,
    )


def _prove(
    files: CohortFiles, prepared: Prepared, sandbox: Sandbox, scratch: Path
) -> VerifierProof:
    challenge = prepared.challenge

    def run_verifier(workspace: Path) -> JudgedProcess:
        return sandbox.judge(
            workspace,
            files.root / challenge.verifier.path,
            runtime=challenge.verifier.runtime,
            timeout_seconds=challenge.verifier.timeout_seconds,
        )

    return prove(
        challenge,
        prepared.sealed,
        files.root / challenge.reference_solution.path,
        run_verifier,
        scratch=scratch,
        sandbox=sandbox.name,
    )


def write_lock(
    files: CohortFiles,
    *,
    plan_sha256: str,
    trees: tuple[PinnedTree, ...],
    proofs: tuple[VerifierProof, ...],
    overwrite: bool,
) -> PlanLock:
    """Write the lock of a cohort.

    Args:
        files: The cohort.
        plan_sha256: The digest of its frozen notebook.
        trees: The workspaces that its challenges start from.
        proofs: One proof for each challenge.
        overwrite: Whether an existing lock of other content may be replaced.

    Raises:
        InputError: A lock of other content is there already.
    """
    lock = PlanLock(
        cohort=files.cohort.id,
        version=files.cohort.version,
        cohort_sha256=files.cohort.canonical_sha256(),
        plan_sha256=plan_sha256,
        files=inputs_of(files),
        trees=trees,
        proofs=proofs,
    )
    path = files.root / LOCK_NAME
    if path.exists() and not overwrite and path.read_bytes() != lock.canonical():
        raise InputError(
            str(path),
            found=InWords("a lock of other content"),
            allowed="one lock for a version; a correction is a new version",
            next_step="make a new version folder, or --force-output while nothing was run",
        )
    write_atomically(path, lock.canonical())
    return lock


def open_plan(root: Path) -> OpenPlan:
    """Open a frozen cohort: the proof that nothing moved since.

    Args:
        root: The cohort's folder.

    Returns:
        The plan.

    Raises:
        InputError: There is no lock, or a file can't be read.
        DriftError: A pinned thing is not what was pinned; each one is named.
    """
    require_folder(root)
    lock_path = root / LOCK_NAME
    if not lock_path.exists():
        raise InputError(
            str(lock_path),
            found=InWords("no lock"),
            allowed="a frozen cohort",
            next_step=f"run `benchlib freeze {root}` first",
        )
    lock = read_file(PlanLock, lock_path)
    raise_all(list(_drift(lock, root)))
    files = read_cohort(root)
    raise_all(list(_unpinned(lock, files)))
    return OpenPlan(root, files.cohort, lock, files.challenges, files.fixtures, files.policy)


def _unpinned(lock: PlanLock, files: CohortFiles) -> Iterator[InputError]:
    pinned = {file.path for file in lock.files}
    for file in inputs_of(files):
        if file.path not in pinned:
            yield DriftError(
                str(files.root / file.path),
                found=InWords("a file that the lock does not know"),
                allowed="the files that were frozen",
                next_step="remove it, or freeze a new version",
            )


def _drift(lock: PlanLock, root: Path) -> Iterator[InputError]:
    for file in lock.files:
        path = root / file.path
        found = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "no such file"
        if found != file.sha256:
            yield DriftError(
                str(path),
                found=found,
                allowed=f"{file.sha256}, as frozen in {root / LOCK_NAME}",
                next_step="restore the file, or freeze a new version that says why",
            )
