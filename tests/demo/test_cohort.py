"""The demo cohort is a cohort like any other: what it promises of itself holds."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from benchlib.contracts.cohort import Cohort
from benchlib.contracts.fixture import Artifact, Fixture, GitCorpus
from benchlib.contracts.tree import scan_tree, tree_sha256
from benchlib.gateway import read_policy
from tests.demo.conftest import CHALLENGES, DEMO, HAND_WRITTEN, challenge_of


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def folder_sha256(folder: Path) -> str:
    entries = (one for one in scan_tree(folder) if "__pycache__" not in one.path.split("/"))
    return tree_sha256(entries)


def test_the_corpus_comes_again_from_its_script(the_fixture: Fixture, tmp_path: Path) -> None:
    script, bundle = DEMO / "corpus" / "make_corpus.py", tmp_path / "again.bundle"
    made = subprocess.run(
        [sys.executable, str(script), str(bundle)], capture_output=True, text=True, check=True
    )
    heads = ["git", "bundle", "list-heads", str(DEMO / "corpus" / "parceldesk.bundle"), "HEAD"]
    kept = subprocess.run(heads, capture_output=True, text=True, check=True).stdout.split()[0]
    assert isinstance(the_fixture.corpus, GitCorpus)
    assert made.stdout.strip() == kept == the_fixture.corpus.commit


def test_the_project_passes_its_own_tests_at_every_commit(tmp_path: Path) -> None:
    bundle = DEMO / "corpus" / "parceldesk.bundle"
    subprocess.run(["git", "clone", "-q", str(bundle), str(tmp_path / "p")], check=True)

    def git(*argv: str) -> str:
        command = ["git", "-C", str(tmp_path / "p"), *argv]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    commits = git("rev-list", "--reverse", "HEAD").split()
    assert len(commits) == 11
    for commit in commits:
        git("checkout", "-q", commit)
        tests = [sys.executable, "-B", "-m", "unittest", "-q"]
        subprocess.run(tests, cwd=tmp_path / "p", check=True, capture_output=True)


def test_there_is_one_challenge_of_each_kind(cohort: Cohort) -> None:
    kinds = [challenge_of(name).kind for name in cohort.challenges]
    assert sorted(kinds) == ["coding", "continuity", "control", "investigation"]
    assert sorted(cohort.challenges) == list(CHALLENGES)


def test_every_question_is_asked_against_the_full_and_against_the_empty_memory(
    cohort: Cohort,
) -> None:
    counts = Counter((pair.challenge, pair.control, pair.treatment) for pair in cohort.pairs)
    assert counts == {
        (name, "plain", treatment): pairs
        for name in CHALLENGES
        for treatment, pairs in (("recall", 5), ("recall-blank", 3))
    }


def test_digests_are_of_what_lies_there(cohort: Cohort, the_fixture: Fixture) -> None:
    artifacts = [the_fixture.evidence_corpus, *(arm.graph for arm in the_fixture.graph_arms)]
    for artifact in artifacts:
        path = DEMO / artifact.path
        assert artifact == Artifact(
            path=artifact.path, sha256=sha256(path), bytes=path.stat().st_size
        )
    for name in CHALLENGES:
        challenge = challenge_of(name)
        for pinned in (challenge.verifier, challenge.reference_solution):
            assert pinned.sha256 == folder_sha256(DEMO / pinned.path)
    assert cohort.model.kind == "scripted"
    assert cohort.model.policy_sha256 == sha256(DEMO / cohort.model.policy)


def test_the_policy_reads_and_is_marked_as_scripted(cohort: Cohort) -> None:
    assert cohort.model.kind == "scripted"
    policy = read_policy(DEMO / cohort.model.policy)
    assert policy.name == cohort.model.name
    ids = [rule.id for rule in policy.rules]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("name", CHALLENGES)
def test_a_verifiers_copies_are_those_of_the_kit_and_of_the_project(
    name: str, whole_tree: Path, repository: Path
) -> None:
    folder = DEMO / challenge_of(name).verifier.path
    helper = repository / "benchlib" / "grade" / "helpers" / "run_tests.py"
    assert (folder / "run_tests.py").read_bytes() == helper.read_bytes()
    copies = [path for path in (folder / "hidden" / "tests").iterdir() if path.is_file()]
    assert len(copies) == 3
    for copy in copies:
        assert copy.read_bytes() == (whole_tree / "tests" / copy.name).read_bytes()


def surfaces(tree: Path, the_fixture: Fixture) -> dict[str, str]:
    texts = {
        path.relative_to(tree).as_posix(): f"{path.relative_to(tree)}\n{path.read_text()}"
        for path in tree.rglob("*")
        if path.is_file()
    }
    artifacts = [the_fixture.evidence_corpus, *(arm.graph for arm in the_fixture.graph_arms)]
    texts |= {artifact.path: (DEMO / artifact.path).read_text() for artifact in artifacts}
    for name in CHALLENGES:
        challenge = challenge_of(name)
        texts[f"prompt of {name}"] = challenge.prompt
        texts[f"follow-up of {name}"] = challenge.follow_up_prompt or ""
    return texts


def test_no_answer_stands_where_an_agent_can_read(clean_tree: Path, the_fixture: Fixture) -> None:
    phrases = [phrase for name in CHALLENGES for phrase in challenge_of(name).answer_phrases]
    assert len(phrases) >= len(CHALLENGES)
    leaks = [
        (phrase, place)
        for place, text in surfaces(clean_tree, the_fixture).items()
        for phrase in phrases
        if phrase.casefold() in text.casefold()
    ]
    assert leaks == []


def test_no_id_of_the_plan_stands_where_an_agent_can_read(
    clean_tree: Path, the_fixture: Fixture, cohort: Cohort
) -> None:
    ids = [*cohort.challenges, *cohort.fixtures, *(one.id for one in cohort.conditions)]
    ids += ["benchlib", cohort.id, "benchmark", "cohort"]
    spellings = {spelling for name in ids for spelling in (name, name.replace("-", " "))}
    leaks = [
        (spelling, place)
        for place, text in surfaces(clean_tree, the_fixture).items()
        for spelling in spellings - {"plain"}  # an ordinary word: "Plain Python"
        if spelling in text.casefold()
    ]
    assert leaks == []


def test_every_answer_needs_what_only_memory_and_redacted_files_say(
    whole_tree: Path, clean_tree: Path
) -> None:
    """Redaction matters here: what it removes would answer three of the four questions."""
    knowledge = ("at 34 columns", "HALF_EVEN", "empty the returns queue")
    written = " ".join((whole_tree / path).read_text() for path in HAND_WRITTEN).lower()
    left = " ".join(path.read_text() for path in clean_tree.rglob("*") if path.is_file()).lower()
    notes = (DEMO / "memory" / "notes.jsonl").read_text().lower()
    for fact in map(str.lower, knowledge):
        assert fact in written
        assert fact in notes
        assert fact not in left


def test_delivery_phrases_are_of_their_items_and_of_no_other(the_fixture: Fixture) -> None:
    lines = (DEMO / the_fixture.evidence_corpus.path).read_text().splitlines()
    notes = {note["id"]: f"{note['title']}\n{note['body']}" for note in map(json.loads, lines)}
    assert 12 <= len(notes) <= 20
    for phrase in the_fixture.delivery_phrases:
        assert [item for item, text in notes.items() if phrase.text in text] == [phrase.item]
