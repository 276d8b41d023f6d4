"""The verdict on a finished workspace, and the proof that a verifier deserves belief.

A verdict is two things that agree: the verifier's exit status and the one object in
the file that it was given. What it prints is kept for a person and never parsed. A
verifier that crashed, hung, or said two different things gave no verdict; that is
trouble with the apparatus and no zero.

Where the verifier runs is the caller's business: a callable is handed in.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from benchlib.contracts.attempt import Check, Verdict, VerdictFile
from benchlib.contracts.boundaries import JudgedProcess, RunVerifier, SealedWorkspace
from benchlib.contracts.challenge import Challenge
from benchlib.contracts.paths import matches_output
from benchlib.contracts.plan import ProofRun, VerifierProof
from benchlib.contracts.reading import read
from benchlib.errors import InputError, RefusedError, escaped
from benchlib.grade.rehearse import apply_overlay, overlay_paths

_STATUS = {0: True, 1: False}
"""What an exit status claims; any other status claims nothing."""

_HEAD_CHARACTERS = 4000  # of stdout and of stderr each; two of them fit a receipt's field
_REASON_CHARACTERS = 4000
_NAME_CHARACTERS = 300

ProvedWorkspace = Literal["untouched", "reference-solution", "empty"]

_IN_WORDS: dict[ProvedWorkspace, str] = {
    "untouched": "the untouched tree",
    "reference-solution": "the reference solution",
    "empty": "an empty workspace",
}


def verify(workspace: Path, challenge: Challenge, run_verifier: RunVerifier) -> Verdict:
    """Judge one finished workspace.

    Args:
        workspace: The copy of the workspace that the verifier may read.
        challenge: Its verifier is the one that ``run_verifier`` runs.
        run_verifier: Runs the verifier in a fresh sandbox.

    Returns:
        Passed or failed where exit status and verdict object agree; else no verdict, with
        the reason in words.
    """
    judged = run_verifier(workspace)
    said, reason = _said(judged, challenge.verifier.timeout_seconds)
    status: Literal["passed", "failed", "no-verdict"] = "no-verdict"
    if said is not None:
        status = "passed" if said.passed else "failed"
        reason = said.reason
    return Verdict(
        status=status,
        reason=_cut(reason, _REASON_CHARACTERS),
        checks=tuple(_cleaned(check) for check in said.checks) if said else (),
        exit_status=judged.exit_status,
        milliseconds=judged.milliseconds,
        verifier_sha256=challenge.verifier.sha256,
        output_head=_head(judged),
    )


def _said(judged: JudgedProcess, timeout_seconds: int) -> tuple[VerdictFile | None, str]:
    """Return what both channels say, or None and why they say nothing."""
    status = judged.exit_status
    rules = {
        f"the verifier did not end within {timeout_seconds} s": judged.timed_out,
        "the verifier was killed, or never started": status is None,
        f"exit status {status}; a verdict is 0 or 1": status not in _STATUS,
        f"exit status {status} and no verdict file of bounded size": judged.verdict is None,
    }
    broken = next((rule for rule, is_broken in rules.items() if is_broken), None)
    if broken or status is None or judged.verdict is None:
        return None, broken or ""
    try:
        said = read(VerdictFile, judged.verdict, "verdict file")
    except InputError as error:
        return None, f"the verdict file is not one valid object: {error.found}"
    if said.passed is not _STATUS[status]:
        claim = "true" if said.passed else "false"
        return None, f"exit status {status} and `passed: {claim}` do not agree"
    return said, said.reason


def _cleaned(check: Check) -> Check:
    """A check's words may quote what the agent's code printed."""
    return Check(
        name=_cut(check.name, _NAME_CHARACTERS),
        passed=check.passed,
        detail=_cut(check.detail, _REASON_CHARACTERS),
    )


def _head(judged: JudgedProcess) -> str:
    streams = (judged.stdout, judged.stderr)
    return "\n".join(
        _cut(stream[:_HEAD_CHARACTERS].decode(errors="replace"), _HEAD_CHARACTERS)
        for stream in streams
        if stream
    )


def _cut(text: str, characters: int) -> str:
    """Return text that can disturb no terminal; its lines stay lines."""
    return "\n".join(escaped(line) for line in text[:characters].split("\n"))[:characters]


def prove(
    challenge: Challenge,
    sealed: SealedWorkspace,
    solution: Path,
    run_verifier: RunVerifier,
    *,
    scratch: Path,
    sandbox: Literal["docker", "local"],
) -> VerifierProof:
    """Prove that a verifier tells right from wrong, before anything is spent on it.

    It must fail on the untouched tree and pass on the reference solution, twice each,
    and fail without a crash on an empty workspace. The reference solution must also
    stay within the challenge's outputs, else no agent could pass.

    Args:
        challenge: The challenge.
        sealed: The workspace that its arms start from.
        solution: The folder of the reference solution.
        run_verifier: Runs the challenge's verifier in a fresh sandbox.
        scratch: A folder for copies; it need not exist, and it is empty afterwards.
        sandbox: Where it was proved, for the record.

    Returns:
        What was run and what each run said.

    Raises:
        RefusedError: The verifier can't be believed; all findings stand in one report.
    """
    verdicts: list[tuple[ProvedWorkspace, Verdict]] = []
    workspaces: tuple[ProvedWorkspace, ...] = (
        "untouched",
        "untouched",
        "reference-solution",
        "reference-solution",
        "empty",
    )
    scratch.mkdir(parents=True, exist_ok=True)
    for workspace in workspaces:
        tree = _workspace(workspace, sealed, solution, scratch / "w")
        try:
            verdicts.append((workspace, verify(tree, challenge, run_verifier)))
        finally:
            shutil.rmtree(tree)
    _refuse([*_undeclared(challenge, solution), *_faults(verdicts)], challenge)
    return VerifierProof(
        challenge=challenge.id,
        challenge_sha256=challenge.canonical_sha256(),
        verifier_sha256=challenge.verifier.sha256,
        workspace_sha256=sealed.sha256,
        reference_solution_sha256=challenge.reference_solution.sha256,
        runs=tuple(
            ProofRun(workspace=workspace, status=verdict.status, reason=verdict.reason)
            for workspace, verdict in verdicts
        ),
        sandbox=sandbox,
    )


def _workspace(
    workspace: ProvedWorkspace, sealed: SealedWorkspace, solution: Path, destination: Path
) -> Path:
    if workspace == "empty":
        destination.mkdir()
        return destination
    shutil.copytree(sealed.root, destination, symlinks=True)
    if workspace == "reference-solution":
        apply_overlay(destination, solution)
    return destination


def _undeclared(challenge: Challenge, solution: Path) -> Iterator[str]:
    for path in overlay_paths(solution):
        if not any(matches_output(path, pattern) for pattern in challenge.allowed_outputs):
            yield f"the reference solution writes {path}, which is no allowed output"


def _faults(verdicts: list[tuple[ProvedWorkspace, Verdict]]) -> Iterator[str]:
    """Say what is wrong with the verifier, each thing once."""
    for workspace, words in _IN_WORDS.items():
        runs = [verdict for where, verdict in verdicts if where == workspace]
        wanted = "passed" if workspace == "reference-solution" else "failed"
        # An exit status of 0 is acceptance, whatever stands in the file or does not.
        if wanted == "failed" and any(run.exit_status == 0 for run in runs):
            yield f"verifier accepts {words}"
        elif len({run.status for run in runs}) > 1:
            yield f"verifier says different things about {words}"
        elif runs[0].status == "no-verdict":
            yield f"verifier gives no verdict on {words}: {runs[0].reason}"
        elif runs[0].status != wanted:
            yield f"verifier rejects {words}: {runs[0].reason}"


def _refuse(faults: list[str], challenge: Challenge) -> None:
    errors = [
        RefusedError(
            f"challenge {challenge.id}",
            "verifier",
            found=fault,
            allowed="fails on the untouched tree, passes on the reference solution, twice each, "
            "and fails without a crash on an empty workspace",
            next_step=f"correct {challenge.verifier.path} or "
            f"{challenge.reference_solution.path}, and freeze again",
        )
        for fault in faults
    ]
    if errors:
        first, *others = errors
        first.also = tuple(others)
        raise first
