"""From a pinned commit to the one workspace that both arms start from.

Tree, redaction, prebuild, certification, seal: each once per challenge and fixture,
before anything is spent.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchlib.contracts.boundaries import Adapter, ArmPaths, Sandbox, SealedWorkspace, Task
from benchlib.contracts.challenge import Challenge
from benchlib.contracts.cohort import Cohort
from benchlib.contracts.fixture import Fixture
from benchlib.contracts.pair import Preparation
from benchlib.errors import RefusedError
from benchlib.prepare import (
    BuiltTree,
    Surfaces,
    Vocabulary,
    build_tree,
    certify,
    redact,
    seal,
    tree_on_disk,
)


@dataclass(frozen=True)
class Prepared:
    """A sealed workspace, and how it came to be."""

    challenge: Challenge
    fixture: Fixture
    sealed: SealedWorkspace
    preparation: Preparation


def prepare_workspace(
    cohort: Cohort,
    challenge: Challenge,
    fixture: Fixture,
    *,
    root: Path,
    work: Path,
    sandbox: Sandbox,
) -> Prepared:
    """Prepare one workspace.

    Args:
        cohort: The cohort; its ids are vocabulary that no agent may see.
        challenge: The question.
        fixture: Its evidence.
        root: The cohort's folder.
        work: A folder for trees; each gets a folder of its own below.
        sandbox: Where the prebuild runs, and what stands around a workspace.

    Returns:
        The sealed workspace and its receipts.

    Raises:
        InputError: The corpus is not what the fixture pins, or holds what it does not declare.
        RefusedError: Certification found something, or the prebuild failed.
    """
    built = build_tree(
        fixture.corpus,
        base=root,
        destination=work / "t" / f"{challenge.id}--{fixture.id}",
        declarations=fixture.declarations,
    )
    clean, redaction = redact(built, fixture.declarations)
    ready = _prebuilt(challenge, clean, work, sandbox) if challenge.environment.prebuild else clean
    certification = certify(
        _surfaces(cohort, challenge, fixture, ready, root, sandbox),
        vocabulary=_vocabulary(cohort, fixture),
        declarations=fixture.declarations,
    )
    sealed = seal(ready, certification)
    preparation = Preparation(
        tree=built.receipt,
        redaction=redaction,
        prebuilt_sha256=sealed.sha256 if challenge.environment.prebuild else None,
        certification=certification,
        sealed_sha256=sealed.sha256,
    )
    return Prepared(challenge, fixture, sealed, preparation)
