"""The gate: what it finds on which surface, what it leaves alone, and when it can't say."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from prepare.corpora import NO_VOCABULARY, clean_surfaces, git, tree_of

from benchlib.contracts.certification import Certification, Finding
from benchlib.contracts.fixture import Declarations, DeclaredFinding, GitCorpus
from benchlib.contracts.tree import PreparedTree, scan_tree, tree_sha256
from benchlib.errors import InputError, RefusedError
from benchlib.prepare import (
    CORPUS_WENT_UNCHECKED,
    BuiltTree,
    PlanId,
    Surfaces,
    Vocabulary,
    certify,
    certify_without_corpus,
    findings_in_words,
    seal,
)
from benchlib.prepare._reader import BATCH_BYTES as WINDOW_BYTES
from benchlib.prepare._reader import OVERLAP_BYTES
from benchlib.prepare.patterns import EVERYWHERE, IDENTITY, KIT_WORDS, Term

PLAN = Vocabulary(
    ids=(
        PlanId("cohort", "shelf-width"),
        PlanId("challenge", "widen-rack-3"),
        PlanId("condition", "no-memory"),
        PlanId("graph arm", "main"),
        PlanId("fixture", "desk"),
    ),
    answer_phrases=("every 256th job", "größer als 3 mm", "WIDTH = 81"),
)
DIFF = "--- a/src/app.py\n+++ b/src/app.py\n@@ -1,2 +1,2 @@\n-WIDTH = 62\n+WIDTH = 80\n"
KEY = "-----BEGIN RSA PRIVATE KEY-----\nTk9UIEEgS0VZ\n-----END RSA PRIVATE KEY-----\n"
MERGE = "<<<<<<< HEAD\n62\n=======\n80\n>>>>>>> topic\n"


def bare_tree(root: Path, files: dict[str, str | bytes] | None = None) -> BuiltTree:
    """A tree on disk without the detour through Git, for tests that need many."""
    for path, content in (files or {"README.md": "# Desk\n", "src/app.py": "WIDTH = 62\n"}).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content.encode() if isinstance(content, str) else content)
    return on_disk(root)


def on_disk(root: Path) -> BuiltTree:
    entries = tuple(sorted(scan_tree(root), key=lambda entry: os.fsencode(entry.path)))
    receipt = PreparedTree(
        commit="0" * 40, git_tree="0" * 40, tree_sha256=tree_sha256(entries), entries=len(entries),
        size_bytes=0, submodules=(), lfs_pointers=(), dangling_links=(),
    )  # fmt: skip
    return BuiltTree(receipt, entries, root)


def judged(
    surfaces: Surfaces, vocabulary: Vocabulary = PLAN, declarations: Declarations | None = None
) -> Certification:
    return certify(surfaces, vocabulary=vocabulary, declarations=declarations or Declarations())


def of_tree(
    folder: Path, files: dict[str, str | bytes], vocabulary: Vocabulary = PLAN
) -> tuple[Finding, ...]:
    built = bare_tree(folder / "tree", files)
    return judged(clean_surfaces(folder / "surfaces", built), vocabulary).findings


@pytest.fixture
def surfaces(tmp_path: Path) -> Surfaces:
    return clean_surfaces(tmp_path / "surfaces", bare_tree(tmp_path / "tree"))


def test_clean_surfaces_pass_and_each_is_named_with_its_digest(surfaces: Surfaces) -> None:
    verdict = judged(surfaces)
    assert verdict.passed
    assert {surface.kind for surface in verdict.surfaces} == {
        "source", "evidence", "graph", "challenge", "kit-names", "image",
    }  # fmt: skip
    assert surfaces.source is not None
    by_name = {surface.name: surface for surface in verdict.surfaces}
    assert by_name["source"].sha256 == surfaces.source.sha256
    raw = surfaces.evidence.read_bytes()
    assert by_name["evidence"].sha256 == hashlib.sha256(raw).hexdigest()
    assert by_name["evidence"].size_bytes == len(raw)


# --- each kind, on each surface where it can stand -----------------------------------------------

Plant = Callable[[Surfaces, str], Surfaces]


def _in_source(surfaces: Surfaces, text: str) -> Surfaces:
    assert surfaces.source is not None
    (surfaces.source.root / "notes.txt").write_text(text)
    return dataclasses.replace(surfaces, source=on_disk(surfaces.source.root))


def _in_source_name(surfaces: Surfaces, text: str) -> Surfaces:
    assert surfaces.source is not None
    (surfaces.source.root / f"x {text.replace('/', ' ')} y.txt").write_text("x")
    return dataclasses.replace(surfaces, source=on_disk(surfaces.source.root))


def _in_evidence(surfaces: Surfaces, text: str) -> Surfaces:
    surfaces.evidence.write_text(
        surfaces.evidence.read_text() + json.dumps({"id": "n-3", "a": [{"text": text}]}) + "\n"
    )
    return surfaces


def _in_graph_body(surfaces: Surfaces, text: str) -> Surfaces:
    graph = surfaces.graphs["populated"]
    document = json.loads(graph.read_text())
    document["nodes"].append({"id": "n-9", "kind": "fact", "title": "t", "body": text})
    graph.write_text(json.dumps(document))
    return surfaces


def _in_prompt(surfaces: Surfaces, text: str) -> Surfaces:
    return dataclasses.replace(surfaces, challenge={"prompt": text})


def _in_follow_up(surfaces: Surfaces, text: str) -> Surfaces:
    return dataclasses.replace(surfaces, challenge={**surfaces.challenge, "follow_up_prompt": text})


def _in_kit_names(surfaces: Surfaces, text: str) -> Surfaces:
    return dataclasses.replace(surfaces, kit_names=(*surfaces.kit_names, text))


def _in_home(surfaces: Surfaces, text: str) -> Surfaces:
    (surfaces.image["home"] / ".profile").write_text(text)
    return surfaces


TEXTS = (
    _in_source, _in_evidence, _in_graph_body, _in_prompt, _in_follow_up, _in_home,
)  # fmt: skip
SURFACE_OF = {
    _in_source: "source", _in_source_name: "source", _in_evidence: "evidence",
    _in_graph_body: "graph:populated", _in_prompt: "challenge:prompt",
    _in_follow_up: "challenge:follow_up_prompt", _in_kit_names: "kit-names", _in_home: "image:home",
}  # fmt: skip


@pytest.mark.parametrize("plant", TEXTS)
@pytest.mark.parametrize(
    ("text", "kind", "pattern"),
    [
        ("This is benchlib.", "benchmark-awareness", "benchlib"),
        ("BenchlibError: no", "benchmark-awareness", "benchlib"),
        ("in the memory-arm of", "benchmark-awareness", "memory arm"),
        ("the paired\nruns were", "benchmark-awareness", "paired run"),
        ('{"run_identity": 1}', "benchmark-awareness", "run identity"),
        ("An agent memory benchmark.", "benchmark-awareness", "agent memory benchmark"),
        ("see shelf-width.", "benchmark-awareness", "shelf-width"),
        ("widen-rack-3", "benchmark-awareness", "widen-rack-3"),
        ("It jams on EVERY\n  256th job!", "solution-leak", "every 256th job"),
        ("Er ist GRÖSSER als 3 mm", "solution-leak", "größer als 3 mm"),
        ("width  =  81", "solution-leak", "WIDTH = 81"),
        (DIFF, "patch-or-diff", "unified diff"),
        (DIFF.replace("\n", "\r\n"), "patch-or-diff", "unified diff"),
        (f"first\n{MERGE}", "patch-or-diff", "merge conflict"),
        (KEY, "suspicious-metadata", "private key"),
        (f"\n  {KEY.replace('RSA', 'OPENSSH')}", "suspicious-metadata", "private key"),
    ],
)  # fmt: skip
def test_a_planted_text_is_found_on_every_surface(
    plant: Plant, text: str, kind: str, pattern: str, surfaces: Surfaces
) -> None:
    found = judged(plant(surfaces, text)).findings
    assert {(one.surface, one.kind, one.pattern) for one in found} == {
        (SURFACE_OF[plant], kind, pattern)
    }
    assert all(len(one.why) > 20 for one in found)


@pytest.mark.parametrize("plant", [_in_source_name, _in_kit_names])
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("benchlib", "benchmark-awareness"),
        ("graph_arm", "benchmark-awareness"),
        ("widen-rack-3", "benchmark-awareness"),
        ("every 256th job", "solution-leak"),
    ],
)
def test_a_planted_name_is_found(plant: Plant, text: str, kind: str, surfaces: Surfaces) -> None:
    found = judged(plant(surfaces, text)).findings
    assert {one.kind for one in found} == {kind}
    assert {one.surface for one in found} == {SURFACE_OF[plant]}
    assert {one.line for one in found} == {None}


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("docs/AGENTS.md", "auto-loaded-context"),
        (".github/instructions/x.md", "auto-loaded-context"),
        ("src/CONTEXT.md", "auto-loaded-context"),
        ("claude.md", "auto-loaded-context"),
        ("a/fix.patch", "patch-or-diff"),
        ("a/fix.DIFF", "patch-or-diff"),
        ("a/x.c.orig", "patch-or-diff"),
        ("a/x.c.rej", "patch-or-diff"),
        (".env", "suspicious-metadata"),
        ("a/.env.production", "suspicious-metadata"),
        ("a/.ENV.local", "suspicious-metadata"),
        ("a/.git", "suspicious-metadata"),
    ],
)
def test_a_name_alone_is_a_finding_in_the_source(path: str, kind: str, tmp_path: Path) -> None:
    found = of_tree(tmp_path, {path: "text\n", "a.txt": "x"})
    assert [(one.path, one.kind, one.line) for one in found] == [(path, kind, None)]
    assert found[0].sha256 == hashlib.sha256(b"text\n").hexdigest()


@pytest.mark.parametrize(
    "path",
    [
        ".env.example", ".env.local.template", "a/.env.dist", ".envrc", "env", "x.orig.py",
        "patches/README.md", "src/diffusion.py", "a.patch.txt", "docs/agent.md", "test/agents.md",
        ".gitignore", ".gitattributes", "x.git.md", "src/objects/HEAD", ".npmrc",
    ],
)  # fmt: skip
def test_an_ordinary_name_is_no_finding(path: str, tmp_path: Path) -> None:
    assert of_tree(tmp_path, {path: "text\n", "a.txt": "x"}) == ()


@pytest.mark.parametrize(
    "text",
    [
        "The control arm, the treatment arm and the negative control of a trial.",
        "A benchmark of the harness under every condition; see tests/fixtures.",
        "no memory left; no-memory is an error; the main desk",
        "in-memory army of arms, a graph armature",
        "shelf-widths and xshelf-width and shelf-width-2",
        "every 256th jobs; WIDTH = 810; not every job is the 256th",
        "@@ -1,2 +1,2 @@\nindented:\n  --- a\n  +++ b\n  @@ -1 +1 @@\n",
        "--- a\n\n+++ b\n@@ -1 +1 @@\n",
        "Title\n=======\ntext\n",
        'KEY = """-----BEGIN RSA PRIVATE KEY-----"""',
        "-----BEGIN CERTIFICATE-----\nx\n",
        "-----BEGIN PUBLIC KEY-----\nx\n",
        "We read AGENTS.md and CLAUDE.md when we find them.",
        "//registry.example.org/:_authToken=abc",
        "ghp_short and npm_config_registry",
    ],
)
def test_ordinary_prose_is_no_finding_on_any_surface(text: str, surfaces: Surfaces) -> None:
    for plant in TEXTS:
        surfaces = plant(surfaces, text)
    assert judged(surfaces).findings == ()


def test_every_term_that_is_looked_for_everywhere_is_found_in_each_spelling(
    tmp_path: Path,
) -> None:
    for number, term in enumerate(EVERYWHERE):
        words = term.words.replace("_", " ")
        for spelling in (words, words.upper(), words.replace(" ", "-"), words.replace(" ", "_"),
                         words + "s"):  # fmt: skip
            text = f"x ({spelling}) y"
            found = of_tree(tmp_path / f"{number}-{spelling}", {"a.txt": text})
            assert term.words in {one.pattern for one in found}, text


@pytest.mark.parametrize(
    ("content", "is_found"),
    [
        ("//r.example.org/:_authToken=abc", True),
        ("_password = c2VjcmV0", True),
        ("//r.example.org/:_authToken=${NPM_TOKEN}", False),
        ("# _authToken=abc", False),
        ("always-auth=true\nregistry-timeout=30", False),
    ],
)
def test_a_registry_credential_is_found_where_it_is_one(
    content: str, is_found: bool, tmp_path: Path
) -> None:
    found = of_tree(tmp_path, {"web/.npmrc": content, "a.txt": "x"})
    assert bool(found) == is_found


def test_a_token_shaped_string_and_a_lone_marker_are_notes(tmp_path: Path) -> None:
    files = {"a.txt": "ghp_" + "a" * 36, "b.txt": ">>>>>>> theirs\n"}
    verdict = judged(clean_surfaces(tmp_path / "s", bare_tree(tmp_path / "tree", dict(files))))
    assert verdict.passed
    assert [(one.path, one.pattern) for one in verdict.notes] == [
        ("a.txt", "token-shaped string"),
        ("b.txt", "conflict marker"),
    ]


def test_a_finding_names_its_line(tmp_path: Path) -> None:
    text = "one\ntwo\nthe memory arm\n" + "\n" * 5 + DIFF
    found = of_tree(tmp_path, {"a.txt": text})
    assert [(one.pattern, one.line) for one in found] == [("memory arm", 3), ("unified diff", 9)]


# --- repositories and links ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["x.git", "data/repository"])
def test_a_repository_committed_as_test_data_is_one_finding(name: str, tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.mkdir()
    git("init", "-q", "-b", "main", ".", cwd=made)
    git("commit", "-q", "--allow-empty", "-m", "x", cwd=made)
    built = bare_tree(tmp_path / "tree")
    git("clone", "-q", "--bare", str(made), str(built.root / name), cwd=tmp_path)
    found = judged(clean_surfaces(tmp_path / "s", on_disk(built.root))).findings
    assert [(one.path, one.kind) for one in found] == [(name, "suspicious-metadata")]
    assert found[0].sha256 == tree_sha256(scan_tree(built.root / name))


def test_a_bundle_is_a_repository_in_one_file(tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.mkdir()
    git("init", "-q", "-b", "main", ".", cwd=made)
    git("commit", "-q", "--allow-empty", "-m", "x", cwd=made)
    git("bundle", "create", "-q", "../all", "--all", cwd=made)
    found = of_tree(tmp_path, {"tests/data.bin": (tmp_path / "all").read_bytes()})
    assert [(one.path, one.pattern) for one in found] == [("tests/data.bin", "git bundle")]


@pytest.mark.parametrize(
    ("target", "pattern"),
    [
        ("/etc/passwd", "absolute link"),
        ("../../x", "link out of the tree"),
        ("out/b/../../..", "link out of the tree"),
        ("away/x", "absolute link"),
        ("../README.md", None),
        ("nowhere", None),
        ("loop", None),
        (".", None),
    ],
)
def test_a_link_out_of_the_tree_is_found(target: str, pattern: str | None, tmp_path: Path) -> None:
    root = bare_tree(tmp_path / "tree").root
    (root / "src/b").mkdir()
    (root / "src/b/keep").write_text("x")
    (root / "src/out").symlink_to(".")
    (root / "src/away").symlink_to("/usr")
    (root / "src/loop").symlink_to("link")
    (root / "src/link").symlink_to(target)
    found = judged(clean_surfaces(tmp_path / "s", on_disk(root))).findings
    patterns = [one.pattern for one in found if one.path == "src/link"]
    assert patterns == ([pattern] if pattern else [])
    assert {one.kind for one in found} == {"suspicious-metadata"}


def test_a_link_through_which_a_harness_finds_context_is_found(tmp_path: Path) -> None:
    root = bare_tree(tmp_path / "tree", {"gh/instructions/x.md": "x", "ed/mcp.json": "{}"}).root
    (root / ".github").symlink_to("gh")
    (root / ".vscode").symlink_to("ed")
    (root / ".idx").symlink_to("ed")
    found = judged(clean_surfaces(tmp_path / "s", on_disk(root))).findings
    assert {(one.path, one.pattern) for one in found} == {
        (".github", ".github/instructions/"),
        (".vscode", ".vscode/mcp.json"),
    }


def test_a_term_in_a_links_target_is_found(tmp_path: Path) -> None:
    root = bare_tree(tmp_path / "tree").root
    (root / "x").symlink_to("benchlib/gone")
    found = judged(clean_surfaces(tmp_path / "s", on_disk(root))).findings
    assert [(one.path, one.kind) for one in found] == [("x", "benchmark-awareness")]


# --- case ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("ignores_case", [False, True])
def test_a_case_variant_below_the_root_counts_where_the_harness_ignores_case(
    ignores_case: bool, tmp_path: Path
) -> None:
    folded = ("test/agents.md", "docs/Claude.md", "a/gemini.md", ".github/Copilot-Instructions.md")
    files = dict.fromkeys([*folded, "docs/agent.md", "b/qwen.md"], "x")
    vocabulary = dataclasses.replace(PLAN, harness_ignores_case=ignores_case)
    found = of_tree(tmp_path, dict(files), vocabulary)
    assert {one.path for one in found} == (set(folded) if ignores_case else set())


# --- identity fields and the kit's own names -----------------------------------------------------


def _graph_with(surfaces: Surfaces, document: object) -> Surfaces:
    surfaces.graphs["populated"].write_text(json.dumps(document))
    return surfaces


@pytest.mark.parametrize(
    "document",
    [
        {"nodes": [{"id": "x", "kind": "NAME", "body": "b"}]},
        {"nodes": [{"id": "NAME"}]},
        {"branch": "NAME"},
        {"project": {"name": "NAME"}},
        {"edges": [{"src": "a", "rel": "NAME", "dst": "b"}]},
        {"nodes": [["NAME", "fact", "title", "body"]]},
        {"nodes": [["n-1", "NAME", "title", "body"]]},
        {"edges": [["a", "NAME", "b"]]},
        {"nodes": {"NAME": {"body": "b"}}},
        {"entities": [{"name": "x", "entityType": "NAME"}]},
        {"nodes": [{"id": "x", "tags": ["ok", "NAME"]}]},
    ],
)
@pytest.mark.parametrize(
    "name", ["fixture-width", "treatmentArm", "desk", "main", "negative_control"]
)
def test_the_strict_vocabulary_holds_in_identity_fields(
    document: object, name: str, surfaces: Surfaces
) -> None:
    filled = json.loads(json.dumps(document).replace("NAME", name))
    found = judged(_graph_with(surfaces, filled)).findings
    assert {(one.surface, one.kind) for one in found} == {
        ("graph:populated", "benchmark-awareness")
    }


@pytest.mark.parametrize(
    "document",
    [
        {"nodes": [{"id": "x", "title": "the treatment", "body": "a fixture of the desk, main"}]},
        {"nodes": [["n-1", "fact", "The control arm", "a benchmark"]]},
        {
            "nodes": [
                {"id": "control-panel", "kind": "condition", "source": "tests/fixtures/a.json"}
            ]
        },
        {"nodes": [{"id": "mainland"}, {"id": "desktop"}, {"id": "harmless"}]},
        {"nodes": [], "edges": []},
    ],
)
def test_bodies_titles_and_sources_of_a_graph_are_prose(
    document: object, surfaces: Surfaces
) -> None:
    assert judged(_graph_with(surfaces, document)).findings == ()


@pytest.mark.parametrize("term", [*IDENTITY, *KIT_WORDS], ids=lambda term: term.words)
def test_no_name_of_the_kits_own_holds_a_word_of_the_strict_vocabulary(
    term: Term, surfaces: Surfaces
) -> None:
    words = term.words
    for name in (
        words.replace(" ", "-"),
        f"r-{words}s-3".replace(" ", "_"),
        words.title().replace(" ", ""),
    ):
        found = judged(_in_kit_names(surfaces, name)).findings
        assert words in {one.pattern for one in found}, name
        assert {one.sha256 for one in found} == {None}


@pytest.mark.parametrize("name", ["/opt/agent", "r-armada-9", "charm", "main-road", "controller"])
def test_a_harmless_name_of_the_kits_own_is_no_finding(name: str, surfaces: Surfaces) -> None:
    assert judged(_in_kit_names(surfaces, name)).findings == ()


def test_an_output_that_a_harness_would_load_is_a_finding(surfaces: Surfaces) -> None:
    told = {"prompt": "Write down what you learnt.", "allowed_outputs": "src\n**/CLAUDE.md"}
    found = judged(dataclasses.replace(surfaces, challenge=told)).findings
    assert [(one.surface, one.kind) for one in found] == [
        ("challenge:allowed_outputs", "auto-loaded-context")
    ]


def test_escapes_in_json_hide_nothing(surfaces: Surfaces) -> None:
    raw = '{"id": "n-3", "text": "\\u0062ench\\u006cib and every\\n256th job"}\n'
    surfaces.evidence.write_text(surfaces.evidence.read_text() + raw)
    graph = surfaces.graphs["populated"]
    graph.write_text('{"nodes": [{"id": "f\\u0069xture-1", "body": "\\u0062enchlib"}]}')
    found = judged(surfaces).findings
    assert {(one.surface, one.pattern) for one in found} == {
        ("evidence", "benchlib"), ("evidence", "every 256th job"),
        ("graph:populated", "benchlib"), ("graph:populated", "fixture"),
    }  # fmt: skip
    assert {one.line for one in found if one.surface == "evidence"} == {3}


def test_a_graph_of_json_lines_is_read_too(surfaces: Surfaces) -> None:
    lines = '{"type": "entity", "name": "Desk"}\n{"type": "entity", "name": "control arm 3"}\n'
    surfaces.graphs["populated"].write_text(lines)
    found = judged(surfaces, NO_VOCABULARY).findings
    assert [(one.pattern, one.line) for one in found] == [("control arm", 2)]


# --- the image -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("surface", "path", "kind"),
    [
        ("home", ".claude/settings.json", "auto-loaded-context"),
        ("home", ".codex/AGENTS.md", "auto-loaded-context"),
        ("parents", "CLAUDE.md", "auto-loaded-context"),
        ("parents", "home/.agents/skills/x/SKILL.md", "auto-loaded-context"),
        ("packages", "usr/lib/python3/dist-packages/desk/app.py", "solution-leak"),
        ("packages", "usr/lib/python3/dist-packages/Desk-2.1.dist-info/METADATA", "solution-leak"),
        ("packages", "x/site-packages/desk.egg-link", "solution-leak"),
        ("packages", "x/site-packages/__editable__.desk-1.0.pth", "solution-leak"),
        ("packages", "x/site-packages/desk.py", "solution-leak"),
        ("packages", "x/node_modules/desk/index.js", "solution-leak"),
        ("packages", "x/node_modules/@shop/desk/index.js", "solution-leak"),
        ("caches", "root/.cargo/registry/desk-0.3.0/src/lib.rs", "solution-leak"),
        ("caches", "root/.cache/pip/wheels/desk-2.1-py3-none-any.whl", "solution-leak"),
        ("caches", "root/.cache/desk-2.1.tar.gz", "solution-leak"),
        ("caches", "root/.cargo/registry/cache/desk-0.3.0.crate", "solution-leak"),
        ("packages", "x/site-packages/benchlib/x.py", "benchmark-awareness"),
        ("home", "notes/benchlib.txt", "benchmark-awareness"),
        ("home", "x.git/objects/ab/cd", "suspicious-metadata"),
    ],
)
def test_what_stands_around_the_workspace_is_found(
    surface: str, path: str, kind: str, tmp_path: Path
) -> None:
    files: dict[str, str | bytes] = {"pyproject.toml": '[project]\nname = "Desk"\n', "a.py": "x"}
    found = _around(
        tmp_path,
        surface,
        [path, *([] if "objects" not in path else ["x.git/HEAD", "x.git/refs/heads/main"])],
        files,
    )
    assert {(one.surface, one.kind) for one in found} == {(f"image:{surface}", kind)}


@pytest.mark.parametrize(
    ("surface", "path"),
    [
        ("packages", "x/site-packages/desktop/app.py"),
        ("packages", "x/site-packages/other/desk/app.py"),
        ("packages", "x/site-packages/desk_extra-1.0.dist-info/METADATA"),
        ("packages", "x/site-packages/other/AGENTS.md"),
        ("packages", "x/site-packages/other/tests/key.pem"),
        ("caches", "root/.cache/pip/wheels/other-1.0-py3-none-any.whl"),
        ("home", ".bashrc"),
        ("home", "desk/notes.txt"),
        ("parents", ".dockerenv"),
    ],
)
def test_ordinary_things_around_the_workspace_are_no_finding(
    surface: str, path: str, tmp_path: Path
) -> None:
    files: dict[str, str | bytes] = {"pyproject.toml": '[project]\nname = "desk"\n', "a.py": "x"}
    assert _around(tmp_path, surface, [path], files) == ()


def _around(
    folder: Path, surface: str, paths: list[str], files: dict[str, str | bytes]
) -> tuple[Finding, ...]:
    root = folder / surface
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("x")
    made = clean_surfaces(folder / "surfaces", bare_tree(folder / "tree", files))
    return judged(dataclasses.replace(made, image={surface: root}), NO_VOCABULARY).findings


@pytest.mark.parametrize(
    ("manifest", "content", "name"),
    [
        ("setup.cfg", "[metadata]\nname = desk\n", "desk"),
        ("setup.py", "setup(\n    name='desk',\n)\n", "desk"),
        ("PKG-INFO", "Metadata-Version: 2.1\nName: desk\n", "desk"),
        ("package.json", '{"version": "1", "name": "@shop/desk"}', "desk"),
        ("Cargo.toml", '[package]\nname = "desk"\n', "desk"),
        ("go.mod", "module example.org/shop/desk\n", "desk"),
        ("src/desk/__init__.py", "", "desk"),
        ("desk/__init__.py", "", "desk"),
    ],
)
def test_a_project_is_known_by_any_manifest(
    manifest: str, content: str, name: str, tmp_path: Path
) -> None:
    found = _around(tmp_path, "packages", [f"site-packages/{name}/x.py"], {manifest: content})
    assert [one.path for one in found] == [f"site-packages/{name}"]


# --- what can't be read --------------------------------------------------------------------------


def _without(field: str, value: object) -> Callable[[Surfaces], Surfaces]:
    return lambda surfaces: dataclasses.replace(surfaces, **{field: value})


def _wrong(change: Callable[[Surfaces], object]) -> Callable[[Surfaces], Surfaces]:
    def spoil(surfaces: Surfaces) -> Surfaces:
        change(surfaces)
        return surfaces

    return spoil


@pytest.mark.parametrize(
    "spoil",
    [
        _without("source", None),
        _without("graphs", {}),
        _without("graphs", {"x": Path("/nonexistent/graph.json")}),
        _without("evidence", Path("/nonexistent/notes.jsonl")),
        _without("challenge", {}),
        _without("challenge", {"prompt": "  \n"}),
        _without("kit_names", ()),
        _without("image", {}),
        _without("image", {"home": Path("/nonexistent/home")}),
        _wrong(lambda s: s.evidence.write_text("")),
        _wrong(lambda s: s.evidence.write_text("\n\n")),
        _wrong(lambda s: s.evidence.write_text('{"id": 1}\nnot json\n')),
        _wrong(lambda s: s.evidence.write_text('{"id": 1, "id": 2}\n')),
        _wrong(lambda s: s.evidence.write_text('["id"]\n')),
        _wrong(lambda s: s.graphs["populated"].write_text("")),
        _wrong(lambda s: s.graphs["populated"].write_bytes(b"SQLite format 3\0")),
        _wrong(lambda s: s.graphs["populated"].write_text("{}\n[]\n")),
        _wrong(lambda s: os.mkfifo(s.source.root / "pipe")),
        _wrong(lambda s: [path.unlink() for path in s.source.root.rglob("*.*")]),
        _wrong(lambda s: s.source.root.rename(s.source.root.parent / "moved")),
    ],
)
def test_a_surface_that_is_absent_empty_or_unreadable_is_an_error(
    spoil: Callable[[Surfaces], Surfaces], surfaces: Surfaces
) -> None:
    with pytest.raises(InputError):
        judged(spoil(surfaces))


def test_a_graph_that_is_empty_on_purpose_is_no_error(surfaces: Surfaces) -> None:
    assert judged(_graph_with(surfaces, {"nodes": [], "edges": []})).passed


# --- declared findings ---------------------------------------------------------------------------


def _declared(finding: Finding, **changes: object) -> Declarations:
    fields = {"kind": finding.kind, "path": finding.path, "sha256": finding.sha256} | changes
    return Declarations(findings=(DeclaredFinding(why="a test needs it as it is", **fields),))


def test_a_finding_that_the_plan_declares_is_kept_apart(tmp_path: Path) -> None:
    made = clean_surfaces(tmp_path / "s", bare_tree(tmp_path / "tree", {"key.pem": KEY, "a": "x"}))
    found = judged(made).findings
    verdict = judged(made, declarations=_declared(found[0]))
    assert verdict.passed
    assert verdict.declared == found


@pytest.mark.parametrize(
    "changes", [{"sha256": "0" * 64}, {"path": "other.pem"}, {"kind": "patch-or-diff"}]
)
def test_a_declaration_that_matches_nothing_is_an_error(
    changes: dict[str, object], tmp_path: Path
) -> None:
    made = clean_surfaces(tmp_path / "s", bare_tree(tmp_path / "tree", {"key.pem": KEY, "a": "x"}))
    found = judged(made).findings
    with pytest.raises(InputError) as refused:
        judged(made, declarations=_declared(found[0], **changes))
    assert str(changes.get("path", "key.pem")) in refused.value.field


# --- the opt-out ---------------------------------------------------------------------------------

ABSENT = GitCorpus(kind="git", location="nowhere", commit="0" * 40)


def _unchecked(
    surfaces: Surfaces, corpus: GitCorpus, base: Path, **environment: str
) -> Certification:
    return certify_without_corpus(
        surfaces, corpus, base=base, vocabulary=PLAN, declarations=Declarations(),
        environment=environment,
    )  # fmt: skip


def test_an_absent_corpus_is_an_error_not_a_skip(surfaces: Surfaces, tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        _unchecked(surfaces, ABSENT, tmp_path)
    assert CORPUS_WENT_UNCHECKED in refused.value.next_step
    for value in ("", "0", "true"):
        with pytest.raises(InputError):
            _unchecked(surfaces, ABSENT, tmp_path, **{CORPUS_WENT_UNCHECKED: value})


def test_the_opt_out_is_recorded_and_seals_nothing(surfaces: Surfaces, tmp_path: Path) -> None:
    verdict = _unchecked(surfaces, ABSENT, tmp_path, **{CORPUS_WENT_UNCHECKED: "1"})
    assert verdict.corpus_unchecked_by == "BENCHLIB_CORPUS_WENT_UNCHECKED"
    assert "source" not in {surface.kind for surface in verdict.surfaces}
    assert surfaces.source is not None
    with pytest.raises(RefusedError) as refused:
        seal(surfaces.source, verdict)
    assert "without a source surface" in refused.value.found


def test_the_opt_out_is_refused_where_the_corpus_is_there(
    surfaces: Surfaces, tmp_path: Path
) -> None:
    (tmp_path / "here").mkdir()
    corpus = ABSENT.model_copy(update={"location": "here"})
    with pytest.raises(InputError) as refused:
        _unchecked(surfaces, corpus, tmp_path, **{CORPUS_WENT_UNCHECKED: "1"})
    assert "is there" in refused.value.found


def test_the_opt_out_still_judges_the_rest(surfaces: Surfaces, tmp_path: Path) -> None:
    planted = _in_prompt(surfaces, "every 256th job")
    verdict = _unchecked(planted, ABSENT, tmp_path, **{CORPUS_WENT_UNCHECKED: "1"})
    assert [one.kind for one in verdict.findings] == ["solution-leak"]


# --- sealing -------------------------------------------------------------------------------------


def test_a_certified_tree_is_sealed(tmp_path: Path) -> None:
    built = tree_of(tmp_path, {"a.txt": "x"}, {"b": "a.txt"})
    verdict = judged(clean_surfaces(tmp_path / "s", built))
    sealed = seal(built, verdict)
    assert (sealed.sha256, sealed.entries, sealed.root) == (built.sha256, built.entries, built.root)
    assert sealed.certification_sha256 == verdict.canonical_sha256()


def test_no_tree_with_a_finding_is_sealed_and_all_of_them_are_told(tmp_path: Path) -> None:
    built = bare_tree(tmp_path / "tree", {"a.patch": "x", "key": KEY, "b.txt": "benchlib"})
    verdict = judged(clean_surfaces(tmp_path / "s", built))
    with pytest.raises(RefusedError) as refused:
        seal(built, verdict)
    assert len(refused.value.parts()) == 3
    message = str(refused.value) + findings_in_words(verdict.findings)
    for finding in verdict.findings:
        assert all(part in message for part in (finding.path, finding.why, finding.sha256 or ""))


def test_a_tree_that_changed_after_certification_is_not_sealed(tmp_path: Path) -> None:
    built = bare_tree(tmp_path / "tree")
    (built.root / "README.md").write_text("# Another\n")
    verdict = judged(clean_surfaces(tmp_path / "s", built))
    with pytest.raises(RefusedError) as refused:
        seal(built, verdict)
    assert refused.value.field == "source"


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "extra.txt").write_text("x"),
        lambda root: (root / "README.md").unlink(),
        lambda root: (root / "README.md").chmod(0o755),
        lambda root: ((root / "README.md").unlink(), (root / "README.md").symlink_to("src")),
    ],
)
def test_certification_is_about_the_disk_and_not_about_a_list(
    change: Callable[[Path], object], tmp_path: Path
) -> None:
    built = bare_tree(tmp_path / "tree")
    change(built.root)
    with pytest.raises(RefusedError):
        seal(built, judged(clean_surfaces(tmp_path / "s", built)))


def test_the_digest_of_the_source_is_that_of_the_tree_in_any_order_of_names(tmp_path: Path) -> None:
    files = {"a.txt": "1", "a/b": "2", "a-b": "3", "a/b.c": "4", "a0": "5", "é": "6", "a/b-/c": "7"}
    built = bare_tree(tmp_path / "tree", dict(files))
    verdict = judged(clean_surfaces(tmp_path / "s", built))
    assert verdict.surfaces[0].sha256 == built.sha256


# --- large and odd files -------------------------------------------------------------------------


@pytest.mark.parametrize("at", [10, WINDOW_BYTES - 8, WINDOW_BYTES, 2 * WINDOW_BYTES + 77])
def test_a_term_is_found_wherever_it_stands_in_a_large_file(at: int, tmp_path: Path) -> None:
    line = b"0123456789abcde\n"
    content = bytearray(line * (3 * WINDOW_BYTES // len(line)))
    content[at : at + 12] = b" memory arm "
    found = of_tree(tmp_path, {"big.log": bytes(content)})
    assert [(one.pattern, one.line) for one in found] == [
        ("memory arm", bytes(content[: at + 1]).count(b"\n") + 1)
    ]
    assert found[0].sha256 == hashlib.sha256(content).hexdigest()


def test_a_key_in_the_middle_of_a_large_file_is_no_key_file(tmp_path: Path) -> None:
    content = b"x" * (2 * WINDOW_BYTES - OVERLAP_BYTES) + b"\n" + KEY.encode()
    assert of_tree(tmp_path, {"big.txt": content}) == ()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "latin-1", "utf-8-sig"])
def test_other_encodings_do_not_hide_a_text(encoding: str, tmp_path: Path) -> None:
    text = f"first\nthe memory arm of benchlib, é\n{DIFF}"
    raw = text.encode(encoding)
    found = of_tree(tmp_path, {"a.txt": b"\xff\xfe" * (encoding == "utf-16-le") + raw})
    assert {one.pattern for one in found} == {"memory arm", "benchlib", "unified diff"}
    assert {one.line for one in found} == {2, 3}


def test_a_key_behind_a_byte_order_mark_is_found(tmp_path: Path) -> None:
    found = of_tree(tmp_path, {"k": KEY.encode("utf-8-sig")})
    assert [one.pattern for one in found] == ["private key"]


# --- any tree ------------------------------------------------------------------------------------

_WORDS = st.sampled_from(
    ["the", "control", "arm", "memory", "of", "a", "benchmark", "fixture", "label", "width", "=",
     "62", "graph", "run", "paired", "solution", "every", "job", "---", "+++", "@@", "\n", "- x"]
)  # fmt: skip
_PROSE = st.lists(_WORDS, max_size=30).map(" / ".join)  # the slash keeps terms from forming
_FILES = st.dictionaries(
    st.sampled_from(["a.txt", "src/b.py", "docs/deep/c.md", "d", "x/y/z.json", "binary.bin"]),
    _PROSE.map(str.encode) | st.binary(max_size=60).map(lambda raw: raw.replace(b"b", b"c")),
    min_size=1,
)
_PLANTS = st.sampled_from(
    [
        ("AGENTS.md", "x", "auto-loaded-context"),
        ("docs/.claude/x.md", "x", "auto-loaded-context"),
        (".env", "x", "suspicious-metadata"),
        ("k", KEY, "suspicious-metadata"),
        ("n.txt", "it is BENCHLIB", "benchmark-awareness"),
        ("n.txt", "see widen-rack-3", "benchmark-awareness"),
        ("c.patch", "x", "patch-or-diff"),
        ("n.md", f"text\n{DIFF}", "patch-or-diff"),
        ("n.md", "it is\tevery 256th\njob", "solution-leak"),
    ]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(files=_FILES, plant=_PLANTS)
def test_any_planted_kind_in_any_clean_tree_is_found_and_prose_is_not(
    files: dict[str, str | bytes],
    plant: tuple[str, str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("any")
    built = bare_tree(folder / "tree", files)
    made = clean_surfaces(folder / "s", built)
    assert judged(made).findings == ()
    path, content, kind = plant
    (built.root / path).parent.mkdir(parents=True, exist_ok=True)
    (built.root / path).write_text(content)
    found = judged(made).findings
    assert [(one.path, one.kind) for one in found] == [(path, kind)]
