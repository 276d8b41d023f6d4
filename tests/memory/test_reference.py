"""The embedded system, spoken to as a process; its parts are imported here and nowhere else."""

from __future__ import annotations

import ast
import hashlib
import json
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st
from memory.memory_builder import (
    IDENTITY,
    NOTES,
    REFERENCE,
    TOPIC,
    corpus_bytes,
    graph_bytes,
    provisioner,
    restored,
    write_fixture,
)

import benchlib
from benchlib.errors import InputError
from benchlib.memory import ProvisionerError, destroy, read_graph, read_items, snapshot
from benchlib.memory.reference import content, lexical, store
from benchlib.memory.reference.search import full_text, neighbours, search, semantic

PACKAGE = Path(benchlib.__file__).parent


def test_nothing_in_the_kit_imports_the_embedded_system() -> None:
    own = PACKAGE / "memory" / "reference"
    for path in PACKAGE.rglob("*.py"):
        if own not in path.parents:
            for node in ast.walk(ast.parse(path.read_text())):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                if isinstance(node, ast.ImportFrom):
                    names = [f"{node.module}.{alias.name}" for alias in node.names]
                assert not [one for one in names if "memory.reference" in one], path


def test_a_verb_loads_the_standard_library_alone() -> None:
    script = (
        "import sys, benchlib.memory.reference.__main__;"
        "print([one for one in ('pydantic', 'rfc8785', 'benchlib.contracts', 'dataclasses')"
        " if one in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout == b"[]\n"


def _built(folder: Path, nodes: list[content.Node], edges: list[tuple[str, str, str]]) -> Path:
    project = folder / "project"
    store.build(project, content.Content(tuple(sorted(nodes)), tuple(sorted(edges)), ()))
    return project


def _node(one: str, title: str, body: str = "") -> content.Node:
    return content.Node(one, "note", title, body)


def test_two_builds_of_one_content_are_the_same_bytes(tmp_path: Path) -> None:
    root = tmp_path / "fixture"
    fixture = write_fixture(root)
    files = []
    for name in ("m1", "m2"):
        restored(root, fixture, tmp_path / name)
        files.append(tmp_path / name / "state" / IDENTITY / "memory.sqlite")
    assert files[0].read_bytes() == files[1].read_bytes()
    assert [path.name for path in files[0].parent.iterdir()] == ["memory.sqlite"]


def test_reading_changes_no_byte(tmp_path: Path) -> None:
    root = tmp_path / "fixture"
    memory = restored(root, write_fixture(root), tmp_path / "m")
    file = memory.working / "state" / IDENTITY / "memory.sqlite"
    before = file.read_bytes()
    snapshot(provisioner(), project=IDENTITY, working=memory.working)
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == ["memory.sqlite"]


def test_the_state_digest_is_that_of_the_canonical_projection(tmp_path: Path) -> None:
    root = tmp_path / "fixture"
    memory = restored(root, write_fixture(root), tmp_path / "m")
    response = snapshot(provisioner(), project=IDENTITY, working=memory.working).response
    nodes = sorted([[one["id"], one["kind"], one["title"], one["body"]] for one in (*NOTES, TOPIC)])
    state = {
        "schema": "reference-1",
        "nodes": nodes,
        "edges": [["n-1", "about", "k-1"], ["n-2", "near", "n-1"]],
        "embedding": {"name": "lexical-hash-1", "dim": 512, "vectors": 4},
    }
    assert response.state.digest == hashlib.sha256(rfc8785.dumps(state)).hexdigest()


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@given(TEXTS, TEXTS)
def test_the_projection_is_canonical_json_for_any_text(title: str, body: str) -> None:
    whole = content.Content((_node("n-1", title, body),), (), ())
    data = store.projection(whole, 1)
    assert data == rfc8785.dumps(json.loads(data))


@settings(max_examples=30)
@given(st.lists(TEXTS, max_size=4))
def test_what_is_built_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    nodes = [_node(f"n-{number}", "title", text) for number, text in enumerate(texts)]
    project = _built(tmp_path_factory.mktemp("m"), nodes, [])
    with closing(store.open_project(project)) as opened:
        assert store.read(opened).nodes == tuple(nodes)


def test_a_live_project_is_not_restored_again_and_stays_as_it_was(tmp_path: Path) -> None:
    nodes = [_node("n-1", "One")]
    project = _built(tmp_path, nodes, [])
    before = (project / store.FILE).read_bytes()
    with pytest.raises(store.StoreError, match="lives already"):
        _built(tmp_path, [*nodes, _node("n-2", "Two")], [])
    assert (project / store.FILE).read_bytes() == before


def test_what_a_killed_restore_left_is_built_over_or_destroyed(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / f"{store.FILE}.part").write_bytes(b"half")
    store.destroy(project)
    assert not project.exists()
    project.mkdir()
    (project / f"{store.FILE}.part").write_bytes(b"half")
    _built(tmp_path, [_node("n-1", "One")], [])
    assert [path.name for path in project.iterdir()] == [store.FILE]


@pytest.fixture
def database(tmp_path: Path):  # noqa: ANN201 - a connection that the fixture closes
    nodes = [
        _node("n-1", "Radio", "Answer to quartzite-heron, never to the number."),
        _node("n-2", "Heron", "A heron stands on quartzite."),
        _node("n-3", "Twin", "Same words here."),
        _node("n-4", "Twin", "Same words here."),
        _node("n-5", "Berths", "Snowstorms close the northern berths."),
    ]
    edges = [
        ("n-1", "near", "n-2"),
        ("n-3", "near", "n-2"),
        ("n-4", "near", "n-3"),
        ("n-5", "a", "n-4"),
    ]
    opened = store.open_project(_built(tmp_path, nodes, edges))
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("quartzite-heron", ["n-1"]),  # unquoted, FTS5 reads a column filter
        ("heron quartzite", ["n-2", "n-1"]),
        ('say "heron" OR', []),
        ("NOT (", []),
        ('"', []),
        ("  ", []),
        ("never\0", ["n-1"]),
        ("Same words", ["n-3", "n-4"]),  # equal ranks go by id
    ],
)
def test_a_question_is_text_and_never_syntax(database, query: str, ids: list[str]) -> None:  # noqa: ANN001
    found = [hit.id for hit in full_text(database, query)]
    assert sorted(found) == sorted(ids)
    assert found == ids or query == "heron quartzite"


def test_likeness_finds_parts_of_words_and_ties_go_by_id(database) -> None:  # noqa: ANN001
    assert semantic(database, "a snowstorm")[0].id == "n-5"
    twins = semantic(database, "the same words")
    assert [hit.id for hit in twins][:2] == ["n-3", "n-4"]
    assert twins[0].score == twins[1].score
    assert semantic(database, "zzz") == []


def test_parts_of_words_that_fall_into_one_bucket_are_not_likeness(tmp_path: Path) -> None:
    query = lexical.Query("zzzz")
    packed = lexical.pack(lexical.embed("Printing"))
    assert query.similarity_ppm(packed) > 0, "the buckets collide, or this shows nothing"
    with closing(store.open_project(_built(tmp_path, [_node("n-1", "Printing")], []))) as opened:
        assert semantic(opened, "zzzz") == []


def test_neighbours_go_by_distance_then_id_in_both_directions(database) -> None:  # noqa: ANN001
    assert [hit.id for hit in neighbours(database, "n-2")] == ["n-1", "n-3", "n-4", "n-5"]
    assert [hit.id for hit in neighbours(database, "n-2", depth=1)] == ["n-1", "n-3"]
    assert neighbours(database, "nobody") == []


def test_a_question_in_a_sentence_finds_its_note_first(database) -> None:  # noqa: ANN001
    assert search(database, "What do we answer on the radio?", 3)[0].id == "n-1"
    assert len(search(database, "heron quartzite words snowstorms", 2)) == 2
    assert search(database, "qqq", 5) == []


@given(TEXTS)
def test_a_text_is_most_like_itself(text: str) -> None:
    packed = lexical.pack(lexical.embed(text))
    assert lexical.Query(text).similarity_ppm(packed) in (
        {1_000_000} if any(lexical.embed(text)) else {0}
    )


def test_a_vector_is_the_same_on_every_machine() -> None:
    packed = lexical.pack(lexical.embed("Labels are 58 mm wide."))
    assert hashlib.sha256(packed).hexdigest() == (
        "2fd63afd1af6e3e1e731c786fc37503101d84424f2aa2c4999dd6ad7c0bd3141"
    )


GOOD_NOTE = {"id": "n-1", "kind": "note", "title": "T", "body": "b"}
BROKEN_NOTES: Mapping[str, bytes] = {
    "a field too many": corpus_bytes([{**GOOD_NOTE, "more": "x"}]),
    "a field too few": b'{"id": "n-1", "kind": "note", "title": "T"}\n',
    "a key twice": b'{"id": "n-1", "id": "n-1", "kind": "note", "title": "T", "body": ""}\n',
    "an id twice": corpus_bytes([GOOD_NOTE, GOOD_NOTE]),
    "an id with a blank": corpus_bytes([{**GOOD_NOTE, "id": "n 1"}]),
    "an empty title": corpus_bytes([{**GOOD_NOTE, "title": ""}]),
    "a title of two lines": corpus_bytes([{**GOOD_NOTE, "title": "a\nb"}]),
    "a kind that is no name": corpus_bytes([{**GOOD_NOTE, "kind": "Big Kind"}]),
    "a number for a text": b'{"id": "n-1", "kind": "note", "title": "T", "body": 1}\n',
    "a mark in the text": corpus_bytes([{**GOOD_NOTE, "body": "<!-- memory channel=x"}]),
    "a lone surrogate": b'{"id": "n-1", "kind": "note", "title": "T", "body": "\\ud800"}\n',
    "no UTF-8": corpus_bytes([GOOD_NOTE]).replace(b"T", b"\xff"),
    "no line end": corpus_bytes([GOOD_NOTE]).rstrip(),
    "an empty line": corpus_bytes([GOOD_NOTE]) + b"\n",
    "no object": b"[]\n",
}


@pytest.mark.parametrize("data", BROKEN_NOTES.values(), ids=BROKEN_NOTES.keys())
def test_a_broken_evidence_corpus_is_refused_by_the_kit_and_by_the_embedded_system(
    tmp_path: Path, data: bytes
) -> None:
    with pytest.raises(InputError):
        read_items(data, "notes.jsonl")
    _assert_refused_by_the_embedded(tmp_path, data, graph_bytes([]))


BROKEN_GRAPHS: Mapping[str, bytes] = {
    "an unknown id": graph_bytes(["n-9"]),
    "a node twice": graph_bytes(["n-1", "n-1"]),
    "an own node of a known id": graph_bytes([GOOD_NOTE]),
    "an edge to nowhere": graph_bytes(["n-1"], [["n-1", "near", "n-2"]]),
    "an edge twice": graph_bytes(["n-1"], [["n-1", "near", "n-1"]] * 2),
    "an edge of two": graph_bytes(["n-1"], [["n-1", "n-1"]]),
    "a relation that is no name": graph_bytes(["n-1"], [["n-1", "Is Near", "n-1"]]),
    "no edges": b'{"schema": "reference-1", "nodes": []}',
    "a field too many": b'{"schema": "reference-1", "nodes": [], "edges": [], "more": 1}',
}


@pytest.mark.parametrize("data", BROKEN_GRAPHS.values(), ids=BROKEN_GRAPHS.keys())
def test_a_broken_graph_is_refused_by_the_kit_and_by_the_embedded_system(
    tmp_path: Path, data: bytes
) -> None:
    corpus = corpus_bytes([GOOD_NOTE])
    with pytest.raises(InputError):
        read_graph(data, "graph.json", read_items(corpus, "notes.jsonl"))
    _assert_refused_by_the_embedded(tmp_path, corpus, data)


def _assert_refused_by_the_embedded(folder: Path, corpus: bytes, graph: bytes) -> None:
    files = {"c.jsonl": corpus, "g.json": graph, "p.json": b'{"probes": []}'}
    for name, data in files.items():
        (folder / name).write_bytes(data)
    with pytest.raises(content.ContentError):
        content.read_content(folder / "c.jsonl", folder / "g.json", folder / "p.json")


@pytest.mark.parametrize(
    ("argv", "stdin", "status"),
    [
        (["restore"], b"{}", 2),
        (["restore"], b'{"project": "a", "project": "b"}', 2),
        (["snapshot"], b'{"project": "r-00000000"}', 1),
        (["snapshot"], b'{"project": "../../etc"}', 1),
        (["snapshot"], b'{"project": "r-00000000", "arm": "x"}', 2),
        (["snapshot"], b"", 2),
        (["destroy"], b'{"project": "../../etc"}', 0),
        (["forget"], b"{}", 2),
        ([], b"{}", 2),
        (["serve", "r-00000000"], b"", 1),
        (["serve", "../.."], b"", 1),
    ],
)
def test_a_bad_call_ends_with_a_status_and_one_line(
    tmp_path: Path, argv: list[str], stdin: bytes, status: int
) -> None:
    done = subprocess.run(
        [*REFERENCE, *argv], input=stdin, capture_output=True, cwd=tmp_path, check=False
    )
    assert done.returncode == status
    assert done.stderr.count(b"\n") == (1 if status else 0)
    assert done.stdout == (b"" if status else b'{"ok": true}\n')
    assert list(tmp_path.iterdir()) == []


def test_a_destroyed_memory_can_not_be_read(tmp_path: Path) -> None:
    root = tmp_path / "fixture"
    memory = restored(root, write_fixture(root), tmp_path / "m")
    destroy(provisioner(), project=IDENTITY, working=memory.working)
    with pytest.raises(ProvisionerError) as caught:
        snapshot(provisioner(), project=IDENTITY, working=memory.working)
    assert caught.value.reason == "nonzero-exit"
