"""Portable paths: what is portable stays so, and each kind of damage is named by its own word."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from strategies import components, portable_paths

from benchlib.contracts.paths import (
    RESERVED_NAMES,
    collisions,
    folded,
    matches_output,
    path_fault,
)


@given(portable_paths())
@example("a")
@example(".gitignore")
@example("..a/b..c")
@example("com/lpt/com10/lpt.txt")
@example("é/e\u0301")
def test_a_relative_path_of_plain_names_is_portable(path: str) -> None:
    assert path_fault(path) is None


FORBIDDEN = 'a character that Windows forbids (<>:"|?*)'

# the word of the fault, and how a component is damaged so that it is the first one
DAMAGES = [
    ("an absolute path", lambda path, name: f"/{path}/{name}"),
    ("a backslash", lambda path, name: f"{path}/{name}\\x"),
    ("a backslash", lambda path, name: f"\\\\server\\{path}/{name}"),
    (FORBIDDEN, lambda path, name: f"C:/{path}/{name}"),
    (FORBIDDEN, lambda path, name: f"{path}/{name}?"),
    (FORBIDDEN, lambda path, name: f"{path}/{name}:stream"),
    ("an empty component", lambda path, name: f"{path}//{name}"),
    ("an empty component", lambda path, name: f"{path}/{name}/"),
    ("a component '.'", lambda path, name: f"./{path}/{name}"),
    ("a component '..'", lambda path, name: f"{path}/../{name}"),
    ("a component '..'", lambda path, name: f"../{path}/{name}"),
    ("a control character", lambda path, name: f"{path}/\n{name}"),
    ("a control character", lambda path, name: f"{path}/{name}\x00"),
    ("a control character", lambda path, name: f"{path}/{name}\x85"),
    ("a control character", lambda path, name: f"{path}\x7f/{name}"),
    ("a trailing dot", lambda path, name: f"{path}/{name}."),
    ("a trailing dot", lambda path, name: f"{name}./{path}"),
    ("a trailing space", lambda path, name: f"{path}/{name} "),
    ("not UTF-8", lambda path, name: f"{path}/{name}\udcff"),
    ("a component of more than 255 bytes", lambda path, name: f"{path}/{'é' * 128}{name}"),
    ("more than 4096 bytes", lambda path, name: f"{path}/{name}" + "/abcdefgh" * 456),
]


@pytest.mark.parametrize(("word", "damage"), DAMAGES, ids=[row[0] for row in DAMAGES])
@settings(max_examples=25)
@given(path=portable_paths(max_depth=2), name=components())
def test_each_damage_is_named(word: str, damage: object, path: str, name: str) -> None:
    assert callable(damage)
    assert path_fault(damage(path, name)) == word


def test_an_empty_path_is_no_path() -> None:
    assert path_fault("") == "an empty path"


@pytest.mark.parametrize("name", sorted(RESERVED_NAMES))
@pytest.mark.parametrize("dress", ["{}", "{}.txt", "{}.tar.gz", "a/{}", "{}/a", "{} .txt"])
def test_a_device_name_of_windows_is_reserved_in_any_dress(name: str, dress: str) -> None:
    for spelling in (name, name.upper(), name.capitalize()):
        assert path_fault(dress.format(spelling)) == "a reserved Windows name"


@pytest.mark.parametrize(
    "name", ["console", "auxiliary.c", "com", "com10", "xcon", "prn-1", "nul_"]
)
def test_a_name_that_begins_like_a_device_is_free(name: str) -> None:
    assert path_fault(name) is None


@given(st.text(max_size=20))
def test_any_text_is_judged_without_a_crash(text: str) -> None:
    fault = path_fault(text)
    assert fault is None or fault
    if fault is None:
        assert not set(text) & set('\\<>:"|?*\0\n')
        assert ".." not in text.split("/")


# -- collisions --------------------------------------------------------------------------------


def _spellings(path: str) -> list[str]:
    swapped = path.swapcase()
    forms = {path, swapped, path.upper(), unicodedata.normalize("NFD", path)}
    return [form for form in forms if folded(form) == folded(path)]


@given(portable_paths(), st.data())
@example("straße", None)
@example("Å", None)
def test_two_spellings_of_one_name_collide_and_one_spelling_does_not(
    path: str, data: st.DataObject | None
) -> None:
    others = [form for form in _spellings(path) if form != path]
    assert collisions([path, path]) == []
    assume(others)
    other = data.draw(st.sampled_from(others)) if data else others[0]
    assert len(collisions([path, other])) == 1


@given(st.lists(portable_paths(max_depth=3), max_size=6))
def test_collisions_do_not_depend_on_order_or_repetition(paths: list[str]) -> None:
    assert collisions(paths) == collisions(paths[::-1]) == collisions(paths * 2)


@given(st.lists(portable_paths(max_depth=3), max_size=6))
def test_paths_without_a_collision_are_as_many_after_folding(paths: list[str]) -> None:
    # The oracle looks at all pairs of prefixes, without the walk under test.
    prefixes = {
        "/".join(path.split("/")[:depth])
        for path in paths
        for depth in range(1, path.count("/") + 2)
    }
    is_clean = len({folded(prefix) for prefix in prefixes}) == len(prefixes)
    assert (collisions(paths) == []) == is_clean


@given(st.text(max_size=12))
def test_folding_twice_is_folding_once_for_normal_text(text: str) -> None:
    once = folded(text)
    assert unicodedata.normalize("NFC", once) == once


@pytest.mark.parametrize(
    ("paths", "found"),
    [
        (["Docs/a", "docs/b"], [("docs", "Docs")]),
        (["a", "A/b"], [("a", "A")]),
        (["x/é.txt", "x/e\u0301.txt"], [("x/é.txt", "x/e\u0301.txt")]),
        (["STRASSE", "straße"], [("straße", "STRASSE")]),
        (["file", "ﬁle"], [("ﬁle", "file")]),
        (["a/b", "a/c", "a"], []),
    ],
)
def test_folders_accents_and_ligatures_count(
    paths: list[str], found: list[tuple[str, str]]
) -> None:
    assert collisions(paths) == found


# -- declared outputs --------------------------------------------------------------------------


@given(portable_paths(), portable_paths())
def test_a_declared_output_covers_itself_and_all_below(pattern: str, rest: str) -> None:
    assert matches_output(pattern, pattern)
    assert matches_output(f"{pattern}/{rest}", pattern)
    assert not matches_output(f"{pattern}x", pattern)


@given(portable_paths(), portable_paths(), portable_paths())
def test_an_output_at_any_depth_covers_whole_components_only(
    above: str, name: str, below: str
) -> None:
    for path in (name, f"{above}/{name}", f"{above}/{name}/{below}"):
        assert matches_output(path, f"**/{name}")
    assume(f"/{name}/" not in f"/{above}/{name}x/")
    assert not matches_output(f"{above}/{name}x", f"**/{name}")
