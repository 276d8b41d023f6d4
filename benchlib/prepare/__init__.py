"""From a pinned commit to the one workspace that both arms start from.

`build_tree` reads Git objects, `redact` alone modifies, `certify` alone judges, `seal`
refuses what was not certified. Each takes and gives frozen values:

    built = build_tree(fixture.corpus, base=root, destination=work, declarations=declared)
    clean, receipt = redact(built, declared)
    verdict = certify(surfaces, vocabulary=vocabulary_of(cohort, challenge, fixture),
                      declarations=declared)
    workspace = seal(clean, verdict)

*Decisions.* TO COME
"""

from benchlib.prepare._autoload import auto_loaded_paths, patterns_sha256
from benchlib.prepare.certify import (
    CORPUS_WENT_UNCHECKED,
    Surfaces,
    certify,
    certify_without_corpus,
    visible_text,
)
from benchlib.prepare.redact import redact
from benchlib.prepare.seal import seal
from benchlib.prepare.tree import BuiltTree, build_tree, tree_on_disk
from benchlib.prepare.vocabulary import PlanId, Vocabulary, vocabulary_of
from benchlib.prepare.words import findings_in_words, preparation_in_words

__all__ = [
    "CORPUS_WENT_UNCHECKED",
    "BuiltTree",
    "PlanId",
    "Surfaces",
    "Vocabulary",
    "auto_loaded_paths",
    "build_tree",
    "certify",
    "certify_without_corpus",
    "findings_in_words",
    "patterns_sha256",
    "preparation_in_words",
    "redact",
    "seal",
    "tree_on_disk",
    "visible_text",
    "vocabulary_of",
]
