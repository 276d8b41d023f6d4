"""What a person reads; and that the part shows what it says it shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from prepare.corpora import clean_surfaces, tree_of

import benchlib.prepare
from benchlib.contracts.challenge import Challenge
from benchlib.contracts.cohort import Cohort
from benchlib.contracts.fixture import Declarations, Fixture
from benchlib.contracts.pair import Preparation
from benchlib.errors import InputError
from benchlib.prepare import (
    PlanId,
    Vocabulary,
    certify,
    findings_in_words,
    preparation_in_words,
    redact,
    visible_text,
    vocabulary_of,
)


@pytest.fixture
def preparation(tmp_path: Path) -> Preparation:
    files = {"AGENTS.md": "be brief", "agents/x.md": "x", "a.patch": "x", "b.txt": "one\nbenchlib"}
    built = tree_of(tmp_path, files, {"gone": "nowhere", "CLAUDE.md": "AGENTS.md"})
    clean, redaction = redact(built, Declarations())
    verdict = certify(
        clean_surfaces(tmp_path / "surfaces", clean),
        vocabulary=Vocabulary((), ()),
        declarations=Declarations(),
    )
    return Preparation(
        tree=built.receipt,
        redaction=redaction,
        prebuilt_sha256=None,
        certification=verdict,
        sealed_sha256=clean.sha256,
    )


def test_a_preparation_tells_the_whole_story(preparation: Preparation) -> None:
    text = preparation_in_words(preparation)
    for part in (
        preparation.tree.commit, "6 entries", "gone -> nowhere", "redacted   2 entries",
        "AGENTS.md (AGENTS.md)", "source", "kit-names", "REFUSED    2 findings", "b.txt:2",
        "a.patch", "benchmark-awareness",
    ):  # fmt: skip
        assert part in text, part


def test_each_finding_says_where_what_why_and_what_to_do(preparation: Preparation) -> None:
    text = findings_in_words(preparation.certification.findings)
    for finding in preparation.certification.findings:
        assert f"source: {finding.path}" in text
        assert finding.why in text
        assert f"sha256 {finding.sha256}" in text
    assert text.count("next: ") == 2


def test_nothing_found_is_said_too() -> None:
    assert findings_in_words(()) == "certified  nothing that an agent must not see"


def test_an_unchecked_corpus_cannot_be_overlooked(preparation: Preparation) -> None:
    verdict = preparation.certification.model_copy(update={"corpus_unchecked_by": "SOME_VARIABLE"})
    text = preparation_in_words(preparation.model_copy(update={"certification": verdict}))
    assert "UNCHECKED" in text
    assert "SOME_VARIABLE" in text


@pytest.mark.parametrize(
    ("name", "is_distinctive"),
    [
        ("relabel-256", True), ("shelf_width.v2", True), ("parcel-desk-labels", True),
        ("main", False), ("app", False), ("no-memory", False), ("with-memory", False),
        ("demo-1", False), ("investigation", False), ("a-b", False), ("test-run-17", False),
    ],
)  # fmt: skip
def test_only_an_id_that_no_ordinary_text_says_is_looked_for_everywhere(
    name: str, is_distinctive: bool
) -> None:
    assert PlanId("challenge", name).is_distinctive == is_distinctive


def test_the_part_shows_exactly_its_public_names() -> None:
    shown = {name for name in vars(benchlib.prepare) if not name.startswith("_")}
    modules = {"certify", "patterns", "redact", "seal", "tree", "vocabulary", "words"}
    assert set(benchlib.prepare.__all__) == shown - (modules - {"certify", "redact", "seal"})


# --- from a plan ---------------------------------------------------------------------------------


def _challenge(**changes: object) -> Challenge:
    fields: dict[str, object] = {
        "id": "widen-rack", "kind": "coding", "prompt": "Make it wider.",
        "allowed_outputs": ("src", "**/notes.txt"), "agent_timeout_seconds": 60,
        "environment": {"network": "none", "milli_cpus": 1000, "memory_mb": 256,
                        "max_processes": 64},
        "verifier": {"path": "verifiers/x", "sha256": "0" * 64, "runtime": ("python3", "v.py"),
                     "timeout_seconds": 10},
        "reference_solution": {"path": "solutions/x", "sha256": "0" * 64},
        "answer_phrases": ("every 256th job", "every 256th job", "80 mm"),
    }  # fmt: skip
    return Challenge.model_validate({**fields, **changes})


def test_the_visible_text_is_all_that_an_agent_is_told() -> None:
    assert visible_text(_challenge()) == {
        "prompt": "Make it wider.",
        "allowed_outputs": "src\n**/notes.txt",
    }
    two = _challenge(kind="continuity", follow_up_prompt="Go on.")
    assert visible_text(two)["follow_up_prompt"] == "Go on."


def _fixture() -> Fixture:
    artifact = {"path": "memory/x.json", "sha256": "0" * 64, "bytes": 1}
    arm = {"graph": artifact, "least_items": 0, "probes_answer": False}
    return Fixture.model_validate(
        {
            "id": "desk",
            "corpus": {"kind": "git", "location": "x", "commit": "0" * 40},
            "evidence_corpus": artifact,
            "graph_arms": ({"id": "populated", **arm}, {"id": "bare", **arm}),
            "probes": (),
            "delivery_phrases": (),
        }
    )


def _cohort() -> Cohort:
    pair = {"challenge": "widen-rack", "fixture": "desk", "control": "off", "treatment": "on"}
    provisioner = {"name": "m", "build": "1", "argv": ("m",), "serve": ("m",),
                   "embedding": "lexical"}  # fmt: skip
    memory = {"graph_arm": "populated", "channels": ("tool-pull",)}
    claim = {"id": "solved", "hypothesis": "It helps.", "challenges": ("widen-rack",),
             "lines": "per-challenge", "family": "conditional"}  # fmt: skip
    return Cohort.model_validate(
        {
            "id": "shelf-widths",
            "version": 1,
            "title": "t",
            "question": "q",
            "challenges": ("widen-rack", "other-task"),
            "fixtures": ("desk",),
            "conditions": ({"id": "off", "memory": None}, {"id": "on", "memory": memory}),
            "agent": {"adapter": "command", "argv": ("x",)},
            "model": {"kind": "none", "name": "none"},
            "provisioner": provisioner,
            "rules": {"allowed_isolation": ("none",)},
            "analysis": {
                "notebook": "n.ipynb",
                "plan_sha256": "0" * 64,
                "alpha_ppm": 50_000,
                "endpoints": (claim,),
            },
            "pairs": ({"id": "rack-s1", "seed": 1, **pair},),
        }
    )


def test_the_vocabulary_holds_every_id_of_the_plan_and_the_answers() -> None:
    vocabulary = vocabulary_of(_cohort(), _challenge(), _fixture())
    assert {(one.what, one.id) for one in vocabulary.ids} == {
        ("cohort", "shelf-widths"), ("challenge", "widen-rack"), ("challenge", "other-task"),
        ("fixture", "desk"), ("condition", "off"), ("condition", "on"),
        ("graph arm", "populated"), ("graph arm", "bare"), ("pair", "rack-s1"),
    }  # fmt: skip
    assert vocabulary.answer_phrases == ("every 256th job", "80 mm")
    assert not vocabulary.harness_ignores_case


def test_an_answer_phrase_of_blanks_is_an_error() -> None:
    with pytest.raises(InputError) as refused:
        vocabulary_of(_cohort(), _challenge(answer_phrases=("   ",)), _fixture())
    assert refused.value.field == "answer_phrases"


def test_another_word_in_the_vocabulary_is_another_digest() -> None:
    digests = {
        Vocabulary((), ()).sha256(),
        Vocabulary((), ("x y z",)).sha256(),
        Vocabulary((PlanId("pair", "p"),), ()).sha256(),
        Vocabulary((), (), harness_ignores_case=True).sha256(),
    }
    assert len(digests) == 4
