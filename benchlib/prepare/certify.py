"""The gate: reads every surface that an agent can see, and says what it must not see there.

Rules:

1. It only reads, in one pass, and needs no model. Every finding is reported; none is mended.
2. Five kinds: auto-loaded context, suspicious metadata, benchmark awareness, patch or
   diff, solution leak.
3. Terms that give the kit or this plan away are looked for everywhere, contents and
   names; the strict vocabulary only in identity fields of graphs and in the kit's own names.
4. A surface that is absent, empty where it can't be, or unreadable is an error, never a
   pass. There is no switch that turns a finding off but a declaration by path and digest,
   and a declaration that nothing needs is an error too.
5. The one opt-out is for a corpus that is not on this machine: a variable whose name says
   that the corpus went unchecked. The certificate records it, and nothing can be sealed with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from benchlib.contracts.certification import Certification
from benchlib.contracts.challenge import Challenge
from benchlib.contracts.fixture import ArchiveCorpus, Declarations, GitCorpus
from benchlib.errors import InputError, InWords
from benchlib.prepare._findings import Collected, no_surface
from benchlib.prepare._identity import NameJudge
from benchlib.prepare._image import ImageReader, project_names
from benchlib.prepare._rules import awareness_rules, leak_rules, text_rules
from benchlib.prepare._scanner import Scanner
from benchlib.prepare._source import SourceReader
from benchlib.prepare._texts import (
    OUTPUTS,
    read_challenge,
    read_evidence,
    read_graph,
    read_kit_names,
)
from benchlib.prepare.tree import BuiltTree
from benchlib.prepare.vocabulary import Vocabulary

CORPUS_WENT_UNCHECKED = "BENCHLIB_CORPUS_WENT_UNCHECKED"
"""Set to 1 where the pinned checkout can't be had; the certificate says so for ever."""


@dataclass(frozen=True)
class Surfaces:
    """Every surface that an agent of one workspace can see."""

    source: BuiltTree | None  # None only for `certify_without_corpus`
    evidence: Path  # the evidence corpus, JSON lines
    graphs: Mapping[str, Path]  # graph arm -> file
    challenge: Mapping[str, str]  # part -> text, see `visible_text`
    kit_names: tuple[str, ...]  # projects, runs, paths, branches, marks that the kit writes
    image: Mapping[str, Path]  # name -> folder, see `Sandbox.image_surface`


def visible_text(challenge: Challenge) -> dict[str, str]:
    """Return what a challenge lets the agent see, by part."""
    parts = {"prompt": challenge.prompt, OUTPUTS: "\n".join(challenge.allowed_outputs)}
    if challenge.follow_up_prompt is not None:
        parts["follow_up_prompt"] = challenge.follow_up_prompt
    return parts


def certify(
    surfaces: Surfaces, *, vocabulary: Vocabulary, declarations: Declarations
) -> Certification:
    """Read every surface and report what an agent must not see.

    Args:
        surfaces: All of them.
        vocabulary: The plan's own ids and the challenge's answer phrases.
        declarations: Findings that the plan keeps on purpose.

    Returns:
        The verdict; it passes when no finding is left undeclared.

    Raises:
        InputError: A surface is absent or can't be read, or a declaration matches nothing.
    """
    if surfaces.source is None:
        raise no_surface("source", "no tree")
    collected = Collected()
    scanner = _scanner(vocabulary)
    reader = SourceReader(
        surfaces.source.root, scanner, collected, ignores_case=vocabulary.harness_ignores_case
    )
    try:
        reader.read()
        projects = project_names(surfaces.source.root)
    except OSError as error:
        place = str(error.filename or surfaces.source.root)
        raise no_surface(place, error.strerror or str(error)) from error
    _read_others(surfaces, vocabulary, scanner, collected, projects)
    return _verdict(collected, vocabulary, declarations, unchecked_by=None)


def certify_without_corpus(
    surfaces: Surfaces,
    corpus: GitCorpus | ArchiveCorpus,
    *,
    base: Path,
    vocabulary: Vocabulary,
    declarations: Declarations,
    environment: Mapping[str, str],
) -> Certification:
    """Certify what is at hand where the pinned checkout is not, if the operator said so.

    Args:
        surfaces: All but the source.
        corpus: Where the checkout should be.
        base: The folder that a relative location starts from.
        vocabulary: As for `certify`.
        declarations: As for `certify`; those of the source can't be checked.
        environment: Must hold `BENCHLIB_CORPUS_WENT_UNCHECKED=1`.

    Returns:
        A verdict that names the variable. It can't seal anything.

    Raises:
        InputError: The checkout is there, or nobody opted out.
    """
    if is_at_hand(corpus, base=base):
        raise InputError(
            corpus.location,
            found=InWords("the corpus is there"),
            allowed=f"{CORPUS_WENT_UNCHECKED} only where it is absent",
            next_step="certify it",
        )
    if environment.get(CORPUS_WENT_UNCHECKED) != "1":
        raise InputError(
            corpus.location,
            found=InWords("no such checkout"),
            allowed="a corpus that can be read",
            next_step=f"get it, or set {CORPUS_WENT_UNCHECKED}=1 and have the receipt say so",
        )
    collected = Collected()
    scanner = _scanner(vocabulary)
    _read_others(replace(surfaces, source=None), vocabulary, scanner, collected, frozenset())
    return _verdict(collected, vocabulary, declarations, unchecked_by=CORPUS_WENT_UNCHECKED)


def is_at_hand(corpus: GitCorpus | ArchiveCorpus, *, base: Path) -> bool:
    """Tell whether a corpus lies on this machine; what must be fetched does not."""
    return "://" not in corpus.location and (base / corpus.location).exists()


def _read_others(
    surfaces: Surfaces,
    vocabulary: Vocabulary,
    scanner: Scanner,
    collected: Collected,
    projects: frozenset[str],
) -> None:
    """Read every surface but the source."""
    ignores_case = vocabulary.harness_ignores_case
    read_evidence(surfaces.evidence, scanner, collected)
    if not surfaces.graphs:
        raise no_surface("graphs", "no graph at all")
    judge = NameJudge(vocabulary, kit=False)
    for name, path in surfaces.graphs.items():
        read_graph(name, path, scanner, judge, collected)
    read_challenge(surfaces.challenge, scanner, collected, ignores_case=ignores_case)
    judge = NameJudge(vocabulary, kit=True)
    read_kit_names(surfaces.kit_names, scanner, judge, collected, ignores_case=ignores_case)
    if not surfaces.image:
        raise no_surface("image", "no folder at all")
    image = ImageReader(scanner, collected, projects=projects, ignores_case=ignores_case)
    for name, root in surfaces.image.items():
        image.read(name, root)


def _scanner(vocabulary: Vocabulary) -> Scanner:
    return Scanner([*awareness_rules(vocabulary), *leak_rules(vocabulary), *text_rules()])


def _verdict(
    collected: Collected,
    vocabulary: Vocabulary,
    declarations: Declarations,
    *,
    unchecked_by: str | None,
) -> Certification:
    findings, declared, notes = collected.sorted_out(
        declarations, may_be_unused=unchecked_by is not None
    )
    return Certification(
        surfaces=tuple(collected.surfaces),
        findings=findings,
        declared=declared,
        notes=notes,
        vocabulary_sha256=vocabulary.sha256(),
        corpus_unchecked_by=unchecked_by,
    )
