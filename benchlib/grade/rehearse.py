"""The reference solution under the audit: what a perfect agent would be blamed for.

A rehearsal costs no model. It lays the reference solution into a fresh arm, runs the
check that an agent would check its work with, and audits what is left. A byte-code
cache or lock file that the check leaves behind shows here, before money is spent.
"""

from __future__ import annotations

import io
import os
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

from benchlib.contracts.attempt import MutationReport
from benchlib.contracts.boundaries import Arm, FinishedTree, Sandbox, SealedWorkspace
from benchlib.contracts.challenge import Challenge
from benchlib.contracts.paths import OutputPattern
from benchlib.contracts.tree import scan_tree
from benchlib.errors import InputError, InWords, RefusedError

Audit = Callable[[SealedWorkspace, FinishedTree, tuple[OutputPattern, ...]], MutationReport]
"""Compares a finished workspace with the one that it started from."""

_OUTPUT_LIMIT_BYTES = 64 * 1024
_SHOWN_BYTES = 400
_OVERLAY = "overlay.tar"


def rehearse(
    challenge: Challenge,
    sealed: SealedWorkspace,
    solution: Path,
    *,
    sandbox: Sandbox,
    audit: Audit,
) -> MutationReport:
    """Run the reference solution and its check as an agent, and audit the workspace.

    Args:
        challenge: The challenge; ``reference_solution.self_check`` is run where it has one.
        sealed: The workspace that its arms start from.
        solution: The folder of the reference solution.
        sandbox: Where the arm is opened; it gets no door to a model.
        audit: The audit that real arms meet.

    Returns:
        The report. Undeclared mutations in it would force the reward of every agent that
        works as the reference does to zero.

    Raises:
        RefusedError: The check fails on the reference solution.
        OutsideError: The sandbox failed.
    """
    files = {_OVERLAY: _packed(solution)}
    arm = sandbox.open_arm(sealed, challenge.environment, agent_files=files, door=None)
    try:
        unpack = ("tar", "-xf", f"{arm.paths.agent}/{_OVERLAY}", "--no-same-owner")
        _turn(arm, challenge, unpack, field="reference_solution.path")
        if check := challenge.reference_solution.self_check:
            _turn(arm, challenge, check, field="reference_solution.self_check")
        return audit(sealed, arm.finished(), challenge.allowed_outputs)
    finally:
        arm.close()


def _packed(solution: Path) -> bytes:
    """Pack the overlay; its files belong to whoever unpacks them."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path in overlay_paths(solution):
            archive.add(solution / path, arcname=path, recursive=False)
    return buffer.getvalue()


def _turn(arm: Arm, challenge: Challenge, argv: tuple[str, ...], *, field: str) -> None:
    turn = arm.run(
        argv,
        environment={},
        timeout_seconds=challenge.agent_timeout_seconds,
        output_limit_bytes=_OUTPUT_LIMIT_BYTES,
    )
    if turn.record.exit_status != 0:
        said = (turn.stdout + turn.stderr)[-_SHOWN_BYTES:].decode(errors="replace")
        raise RefusedError(
            f"challenge {challenge.id}",
            field,
            found=InWords(f"{' '.join(argv)}: exit status {turn.record.exit_status}: {said}"),
            allowed="exit status 0 on the reference solution",
            next_step="correct the check or the reference solution",
        )


def overlay_paths(solution: Path) -> list[str]:
    """Return the files and links of a reference solution, in order; byte code is left out."""
    return sorted(
        entry.path
        for entry in scan_tree(solution)
        if entry.mode != "folder" and "__pycache__" not in entry.path.split("/")
    )


def apply_overlay(tree: Path, solution: Path) -> None:
    """Lay a reference solution's files over a copy of the tree; what is there is replaced.

    Args:
        tree: A copy, never the sealed workspace itself.
        solution: A folder whose files and links stand at their places in the tree.

    Raises:
        InputError: A path of the solution leads through a link or a file of the tree.
    """
    for path in overlay_paths(solution):
        _refuse_detour(tree, path, solution)
        target = tree / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_symlink() or target.is_file():
            target.unlink()
        shutil.copy2(solution / path, target, follow_symlinks=False)


def _refuse_detour(tree: Path, path: str, solution: Path) -> None:
    """A link in the tree could lead the copy out of it."""
    for parent in list(Path(path).parents)[:-1]:
        place = tree / parent
        if os.path.lexists(place) and (place.is_symlink() or not place.is_dir()):
            raise InputError(
                str(solution),
                path,
                found=InWords(f"{parent} is a link or a file in the tree"),
                allowed="paths whose folders are folders of the tree, or new",
                next_step="lay the file at its real place",
            )
