"""From a pinned commit to the one workspace that both arms start from.

`build_tree` reads Git objects, `redact` alone modifies, `certify` alone judges, `seal`
refuses what was not certified. Each takes and gives frozen values:

    built = build_tree(fixture.corpus, base=root, destination=work, declarations=declared)
    clean, receipt = redact(built, declared)
    verdict = certify(surfaces, vocabulary=vocabulary_of(cohort, challenge, fixture),
                      declarations=declared)
    workspace = seal(clean, verdict)

*Decisions.*

- Trees come from `git cat-file --batch` over an object store that is attached to an empty
  repository of ours: as fast as `git archive | tar`, without attributes, hooks, replace refs
  or a promisor that fetches what is missing. Object ids are not recomputed from contents:
  a bundle or a fetch was checked by Git when it came in, and what a plan pins is the
  tree's SHA-256, which is computed from the bytes that were written.
- A plan's own ids are looked for everywhere only if no ordinary text would say them: 8
  characters and more, two words and more, not all of them generic (`PlanId.is_distinctive`).
  Others (`main`, `app`, `no-memory`) are judged in identity fields and in the kit's names.
- Identity fields of a graph are ids, kinds, relations, names, tags, keys, and the first
  columns of rows. Titles and bodies are prose; sources are paths of the project.
- Answer phrases match in any case, with any white space between their words, not inside a
  longer word. Terms of several words match with a blank, hyphen, underscore or line break.
- A graph that is not JSON, or not one object a line, is refused: its names can't be read.
- Around the workspace a copy of the project is known by its names (manifests, top packages);
  contents of installed packages are not read, for they are other people's. A copy under
  another name, or inside another file, is not seen.
- Not seen anywhere: what is compressed or encoded, and a phrase that comment signs split.
- A declaration (kind, path, SHA-256) covers every finding of that kind in that file; for a
  folder, such as a committed repository, the digest is that of the tree below it.
"""

from benchlib.prepare._autoload import auto_loaded_paths, patterns_sha256
from benchlib.prepare.certify import (
    CORPUS_WENT_UNCHECKED,
    Surfaces,
    certify,
    certify_without_corpus,
    is_at_hand,
    visible_text,
)
from benchlib.prepare.redact import redact
from benchlib.prepare.seal import seal
from benchlib.prepare.tree import BuiltTree, build_tree, tree_on_disk
from benchlib.prepare.vocabulary import PlanId, Vocabulary, vocabulary_of
from benchlib.prepare.words import certification_in_words, findings_in_words, preparation_in_words

__all__ = [
    "CORPUS_WENT_UNCHECKED",
    "BuiltTree",
    "PlanId",
    "Surfaces",
    "Vocabulary",
    "auto_loaded_paths",
    "build_tree",
    "certification_in_words",
    "certify",
    "certify_without_corpus",
    "findings_in_words",
    "is_at_hand",
    "patterns_sha256",
    "preparation_in_words",
    "redact",
    "seal",
    "tree_on_disk",
    "visible_text",
    "vocabulary_of",
]
