"""What may not be seen in one workspace: the plan's own ids and the challenge's answers."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass

from benchlib.contracts.challenge import Challenge
from benchlib.contracts.cohort import Cohort
from benchlib.contracts.fixture import Fixture
from benchlib.errors import InputError
from benchlib.prepare import patterns


@dataclass(frozen=True)
class PlanId:
    """An id that the plan chose; agents never see it, so where it stands, somebody leaked it."""

    what: str  # cohort, challenge, fixture, condition, graph arm, pair
    id: str

    @property
    def is_distinctive(self) -> bool:
        """Whether no ordinary text would say it: 8 characters and more, words that are not generic.

        Example:
            >>> PlanId("challenge", "relabel-256").is_distinctive
            True
            >>> PlanId("challenge", "main").is_distinctive
            False
            >>> PlanId("condition", "with-memory").is_distinctive
            False
        """
        words = re.split(r"[._-]+", self.id)
        return (
            len(self.id) >= 8
            and len(words) >= 2
            and not all(word in patterns.GENERIC_ID_WORDS or word.isdigit() for word in words)
        )


@dataclass(frozen=True)
class Vocabulary:
    """The words of one plan that certification looks for, besides those of every plan."""

    ids: tuple[PlanId, ...]
    answer_phrases: tuple[str, ...]
    harness_ignores_case: bool = False  # or the file system does

    def sha256(self) -> str:
        """Digest these words together with every table of `patterns` that is in force."""
        tables = {
            "ids": [asdict(one) for one in self.ids],
            "answer_phrases": self.answer_phrases,
            "harness_ignores_case": self.harness_ignores_case,
            "kit_name": patterns.KIT_NAME,
            "auto_loaded": [asdict(one) for one in patterns.AUTO_LOADED],
            "text_rules": [asdict(one) for one in patterns.TEXT_RULES],
            "everywhere": [asdict(one) for one in patterns.EVERYWHERE],
            "identity": [asdict(one) for one in patterns.IDENTITY],
            "kit_words": [asdict(one) for one in patterns.KIT_WORDS],
            "identity_fields": sorted(patterns.IDENTITY_FIELDS),
            "generic_id_words": sorted(patterns.GENERIC_ID_WORDS),
            "names": [
                patterns.PATCH_ENDINGS,
                patterns.ENV_HARMLESS_ENDINGS,
                patterns.GIT_PARTS,
                sorted(patterns.PACKAGE_FOLDERS),
            ],
        }
        return hashlib.sha256(json.dumps(tables, sort_keys=True).encode()).hexdigest()


def vocabulary_of(
    cohort: Cohort, challenge: Challenge, fixture: Fixture, *, harness_ignores_case: bool = False
) -> Vocabulary:
    """Collect the vocabulary of one workspace from its plan.

    Args:
        cohort: All its ids count, also those of other challenges.
        challenge: Its answer phrases are solution leaks.
        fixture: Its graph arms are named.
        harness_ignores_case: Whether the cohort's harness finds `agents.md` for `AGENTS.md`.

    Returns:
        The vocabulary, each id once.

    Raises:
        InputError: An answer phrase holds no word to look for.
    """
    ids = [PlanId("cohort", cohort.id)]
    ids += [PlanId("challenge", one) for one in (*cohort.challenges, challenge.id)]
    ids += [PlanId("fixture", one) for one in (*cohort.fixtures, fixture.id)]
    ids += [PlanId("condition", one.id) for one in cohort.conditions]
    ids += [PlanId("graph arm", one.id) for one in fixture.graph_arms]
    ids += [PlanId("pair", one.id) for one in cohort.pairs]
    empty = [phrase for phrase in challenge.answer_phrases if not phrase.split()]
    if empty:
        raise InputError(
            f"challenge {challenge.id}",
            "answer_phrases",
            found=empty[0],
            allowed="phrases with at least one visible character",
            next_step="write the phrase, or remove it",
        )
    first_of = {one.id: one for one in reversed(ids)}
    return Vocabulary(
        ids=tuple(sorted(first_of.values(), key=lambda one: one.id)),
        answer_phrases=tuple(dict.fromkeys(challenge.answer_phrases)),
        harness_ignores_case=harness_ignores_case,
    )
