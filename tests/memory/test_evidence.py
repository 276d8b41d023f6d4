from __future__ import annotations

from pathlib import Path

import pytest
from memory.memory_builder import TOPIC, graph_bytes, pinned, write_fixture

from benchlib.contracts.fixture import Fixture
from benchlib.errors import InputError
from benchlib.memory import fixture_texts, read_graph, read_items


def test_a_fixtures_texts_are_those_of_its_corpus_and_of_every_graph(tmp_path: Path) -> None:
    texts = fixture_texts(write_fixture(tmp_path), tmp_path)
    assert list(texts) == ["k-1", "n-1", "n-2", "n-3"]
    assert texts["n-3"] == "Ferry\nThe last ferry\nleaves at 23:40."
    assert texts["k-1"] == "Printing\n"


def _with_graph(root: Path, fixture: Fixture, data: bytes) -> Fixture:
    (root / "more.json").write_bytes(data)
    arm = fixture.graph_arms[0].model_copy(
        update={"id": "more", "graph": pinned(root, "more.json")}
    )
    return fixture.model_copy(update={"graph_arms": (*fixture.graph_arms, arm)})


def test_one_id_with_two_texts_in_two_graphs_is_bad_input(tmp_path: Path) -> None:
    other = {**TOPIC, "body": "Another text."}
    fixture = _with_graph(tmp_path, write_fixture(tmp_path), graph_bytes([other]))
    with pytest.raises(InputError, match="k-1") as caught:
        fixture_texts(fixture, tmp_path)
    assert caught.value.place == "more.json"


@pytest.mark.parametrize("data", [b"sqlite or whatever", b"[]", graph_bytes([], schema="other-1")])
def test_a_graph_of_another_system_adds_no_texts(tmp_path: Path, data: bytes) -> None:
    fixture = _with_graph(tmp_path, write_fixture(tmp_path), data)
    assert len(fixture_texts(fixture, tmp_path)) == 4
    assert read_graph(data, "more.json", ()) is None


def test_a_fault_is_told_with_file_line_and_field() -> None:
    data = b'{"id": "n-1", "kind": "note", "title": "T", "body": ""}\n{"id": "n-2"}\n'
    with pytest.raises(InputError) as caught:
        read_items(data, "notes.jsonl")
    assert (caught.value.place, caught.value.field) == ("notes.jsonl:2", "kind")
    assert {error.field for error in caught.value.also} == {"title", "body"}


def test_an_absent_corpus_is_bad_input(tmp_path: Path) -> None:
    fixture = write_fixture(tmp_path)
    (tmp_path / "notes.jsonl").unlink()
    with pytest.raises(InputError) as caught:
        fixture_texts(fixture, tmp_path)
    assert caught.value.place == "notes.jsonl"


def test_the_items_of_a_corpus_keep_their_order() -> None:
    data = b"".join(
        b'{"id": "n-%d", "kind": "note", "title": "T", "body": ""}\n' % number
        for number in (3, 1, 2)
    )
    assert [item.id for item in read_items(data, "notes.jsonl")] == ["n-3", "n-1", "n-2"]
