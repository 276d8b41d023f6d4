"""From a pinned commit to the one workspace that both arms start from.

Tree, redaction, prebuild, certification, seal: each once per challenge and fixture,
before anything is spent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchlib.agents import adapter_for
from benchlib.contracts.boundaries import Sandbox, SealedWorkspace, Task
from benchlib.contracts.certification import Certification
from benchlib.contracts.challenge import Challenge
from benchlib.contracts.cohort import Cohort
from benchlib.contracts.fixture import Fixture
from benchlib.contracts.pair import Preparation
from benchlib.errors import RefusedError, escaped
from benchlib.prepare import (
    BuiltTree,
    Surfaces,
    build_tree,
    certify,
    certify_without_corpus,
    redact,
    seal,
    tree_on_disk,
    visible_text,
    vocabulary_of,
)

PREBUILD_OUTPUT_BYTES = 1024 * 1024

PLACES = ("/workspace", "/home/agent", "/opt/agent", "/run/door/model.sock")
"""Where an arm's parts lie, as its agent sees them."""

MARKS = ("<!-- memory channel=tool-pull item=", "<!-- /memory item=")
"""What stands around a text of memory."""


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
    ready, preparation = examine_workspace(
        cohort, challenge, fixture, root=root, work=work, sandbox=sandbox
    )
    return Prepared(challenge, fixture, seal(ready, preparation.certification), preparation)


def examine_workspace(
    cohort: Cohort,
    challenge: Challenge,
    fixture: Fixture,
    *,
    root: Path,
    work: Path,
    sandbox: Sandbox,
) -> tuple[BuiltTree, Preparation]:
    """Build, redact and judge a workspace, whatever the judgement is.

    Args:
        cohort: As for ``prepare_workspace``, like all others.
        challenge: The question.
        fixture: Its evidence.
        root: The cohort's folder.
        work: A folder for trees.
        sandbox: Where the prebuild runs, and what stands around a workspace.

    Returns:
        The tree, and the receipts with every finding.

    Raises:
        InputError: The corpus is not what the fixture pins, or holds what it does not declare.
        RefusedError: The prebuild failed.
    """
    built = build_tree(
        fixture.corpus,
        base=root,
        destination=work / "t" / f"{challenge.id}--{fixture.id}",
        declarations=fixture.declarations,
    )
    clean, redaction = redact(built, fixture.declarations)
    prebuild = challenge.environment.prebuild
    ready = _prebuilt(challenge, fixture, clean, work, sandbox) if prebuild else clean
    certification = certify(
        _surfaces(cohort, challenge, fixture, ready, root=root, sandbox=sandbox),
        vocabulary=vocabulary_of(cohort, challenge, fixture),
        declarations=fixture.declarations,
    )
    sealed_sha256 = ready.receipt.tree_sha256
    preparation = Preparation(
        tree=built.receipt,
        redaction=redaction,
        prebuilt_sha256=sealed_sha256 if prebuild else None,
        certification=certification,
        sealed_sha256=sealed_sha256,
    )
    return ready, preparation


def examine_without_corpus(
    cohort: Cohort,
    challenge: Challenge,
    fixture: Fixture,
    *,
    root: Path,
    sandbox: Sandbox,
    environment: Mapping[str, str],
) -> Certification:
    """Judge all but the source where the pinned corpus is absent, if the operator said so.

    Args:
        cohort: As for ``prepare_workspace``, like all others.
        challenge: The question.
        fixture: Its evidence.
        root: The cohort's folder.
        sandbox: What stands around a workspace.
        environment: Must hold ``BENCHLIB_CORPUS_WENT_UNCHECKED=1``.

    Returns:
        A verdict that names the variable; nothing can be sealed or run with it.

    Raises:
        InputError: The corpus is there, or nobody opted out.
    """
    return certify_without_corpus(
        _surfaces(cohort, challenge, fixture, None, root=root, sandbox=sandbox),
        fixture.corpus,
        base=root,
        vocabulary=vocabulary_of(cohort, challenge, fixture),
        declarations=fixture.declarations,
        environment=environment,
    )


def _surfaces(
    cohort: Cohort,
    challenge: Challenge,
    fixture: Fixture,
    ready: BuiltTree | None,
    *,
    root: Path,
    sandbox: Sandbox,
) -> Surfaces:
    agent_files = _agent_files(cohort)
    texts = {f"agent file {name}": text for name, text in agent_files.items()}
    return Surfaces(
        source=ready,
        evidence=root / fixture.evidence_corpus.path,
        graphs={arm.id: root / arm.graph.path for arm in fixture.graph_arms},
        challenge={**visible_text(challenge), **texts},
        kit_names=(*PLACES, *MARKS, *agent_files),
        image=sandbox.image_surface(),
    )


def _agent_files(cohort: Cohort) -> dict[str, str]:
    """Return what the kit lays into an arm for its agent to run, as text by name."""
    task = Task(
        prompts=(),
        session="0" * 32,
        seed=0,
        model=cohort.model.name,
        max_steps=1,
        memory_tools=True,
        memory_retrieval=True,
        token="0" * 32,
    )
    files = adapter_for(cohort.agent).agent_files(task)
    return {name: data.decode(errors="replace") for name, data in files.items()}


def _prebuilt(
    challenge: Challenge, fixture: Fixture, clean: BuiltTree, work: Path, sandbox: Sandbox
) -> BuiltTree:
    """Run the prebuild in an arm of the redacted tree and take what it left as the tree.

    The arm is like any other, but for what it is given: no agent, no door, no memory.
    """
    environment = challenge.environment
    started_from = SealedWorkspace(clean.root, clean.entries, clean.receipt.tree_sha256, "")
    sandbox.load(started_from)
    arm = sandbox.open_arm(started_from, environment, agent_files={}, door=None)
    destination = work / "b" / f"{challenge.id}--{fixture.id}"
    destination.parent.mkdir(parents=True, exist_ok=True)
    try:
        turn = arm.run(
            environment.prebuild,
            environment={},
            timeout_seconds=challenge.agent_timeout_seconds,
            output_limit_bytes=PREBUILD_OUTPUT_BYTES,
        )
        if turn.record.exit_status != 0:
            raise RefusedError(
                f"challenge {challenge.id}",
                "environment.prebuild",
                found=escaped((turn.stdout + turn.stderr).decode(errors="replace")[-2000:]),
                allowed="a prebuild that ends with status 0 in time",
                next_step="correct the prebuild; it runs in the redacted tree, before any arm",
            )
        arm.copy_workspace(destination)
    finally:
        arm.close()
    return tree_on_disk(destination, clean.receipt)
