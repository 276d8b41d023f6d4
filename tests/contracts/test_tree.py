"""The digest of a tree, and the scan of a folder held against Git's own listing."""

from __future__ import annotations

import hashlib
import os
import random
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import portable_paths

from benchlib.contracts.tree import TreeEntry, entry_at, scan_tree, tree_sha256

EMPTY = hashlib.sha256(b"").hexdigest()
MODES = st.sampled_from(["100644", "100755", "120000", "folder", "fifo"])


def entries() -> st.SearchStrategy[TreeEntry]:
    contents = st.binary(max_size=4)
    return st.builds(
        lambda path, mode, content: TreeEntry(
            path, mode, len(content), hashlib.sha256(content).hexdigest()
        ),
        portable_paths(max_depth=3),
        MODES,
        contents,
    )


def trees(least: int = 0) -> st.SearchStrategy[list[TreeEntry]]:
    return st.lists(entries(), min_size=least, max_size=6, unique_by=lambda entry: entry.path)


@given(trees(), st.randoms(use_true_random=False))
def test_order_does_not_matter(tree: list[TreeEntry], chance: random.Random) -> None:
    shuffled = chance.sample(tree, len(tree))
    assert tree_sha256(shuffled) == tree_sha256(tree)


@given(trees())
def test_times_owners_and_permissions_do_not_matter(tree: list[TreeEntry]) -> None:
    assert tree_sha256([entry._replace(permissions=0o600) for entry in tree]) == tree_sha256(tree)


@given(trees(least=1), st.data())
def test_path_mode_type_and_content_matter(tree: list[TreeEntry], data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(tree) - 1))
    entry = tree[index]
    other_mode = data.draw(MODES.filter(lambda mode: mode != entry.mode))
    changes = [
        entry._replace(path=entry.path + "x"),
        entry._replace(mode=other_mode),
        entry._replace(sha256=hashlib.sha256(b"something else").hexdigest()),
    ]
    for changed in changes:
        assert tree_sha256([*tree[:index], changed, *tree[index + 1 :]]) != tree_sha256(tree)
    assert tree_sha256(tree[:index] + tree[index + 1 :]) != tree_sha256(tree)


@given(trees(), trees())
def test_two_trees_have_one_digest_only_if_they_are_one(
    one: list[TreeEntry], other: list[TreeEntry]
) -> None:
    def facts(tree: list[TreeEntry]) -> set[tuple[str, str, str]]:
        return {(entry.path, entry.mode, entry.sha256) for entry in tree}

    assert (tree_sha256(one) == tree_sha256(other)) == (facts(one) == facts(other))


def test_the_digest_is_what_its_definition_says() -> None:
    tree = [TreeEntry("b", "100644", 0, EMPTY), TreeEntry("a/\udcff", "120000", 0, EMPTY)]
    bytes_of_it = b"120000 %s a/\xff\x00100644 %s b\x00" % (EMPTY.encode(), EMPTY.encode())
    assert tree_sha256(tree) == hashlib.sha256(bytes_of_it).hexdigest()


def test_a_published_digest_never_changes() -> None:
    tree = [
        TreeEntry("README.md", "100644", 3, hashlib.sha256(b"hi\n").hexdigest()),
        TreeEntry("bin/run", "100755", 0, EMPTY),
        TreeEntry("latest", "120000", 6, hashlib.sha256(b"README").hexdigest()),
    ]
    assert tree_sha256(tree) == "1ac6bf0767771f8336f6a21d572944d1c461bc6a400c74841996a055d8007e73"


# -- the scan ----------------------------------------------------------------------------------


def git(root: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", "-C", root, *arguments], check=True, capture_output=True).stdout


def listed_by_git(root: Path) -> set[tuple[str, str, int, str]]:
    """The independent referee: Git's listing of HEAD, each blob asked of its object store."""
    listing = git(root, "ls-tree", "-r", "-z", "HEAD").split(b"\0")[:-1]
    found = set()
    for line in listing:
        head, raw = line.split(b"\t", 1)
        mode, _, name = head.decode().split(" ")
        content = git(root, "cat-file", "blob", name)
        found.add((os.fsdecode(raw), mode, len(content), hashlib.sha256(content).hexdigest()))
    return found


def scanned(root: Path) -> set[tuple[str, str, int, str]]:
    return {entry[:4] for entry in scan_tree(root, leave_out=frozenset({".git"}))}


def test_a_scan_is_what_git_lists(git_repository: Path) -> None:
    root = git_repository
    (root / "src/deep/er").mkdir(parents=True)
    (root / "src/deep/er/app.py").write_bytes(b"print()\r\n")
    (root / "run.sh").write_bytes(b"#!/bin/sh\n")
    (root / "run.sh").chmod(0o700)
    (root / "empty").write_bytes(b"")
    (root / "link").symlink_to("src/deep")
    (root / "dangling").symlink_to("nowhere/at all")
    (root / "größe 1.txt").write_bytes(b"\x00\xff")
    Path(os.fsdecode(os.fsencode(root) + b"/not-utf8-\xff")).write_bytes(b"x")
    (root / "line\nbreak").write_bytes(b"y")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "m")
    assert scanned(root) == listed_by_git(root)
    assert len(scanned(root)) == 8


@settings(max_examples=15, deadline=None)
@given(
    files=st.dictionaries(
        st.lists(st.sampled_from(["a", "b", "ü", "A b"]), min_size=1, max_size=3).map("/".join),
        st.tuples(st.binary(max_size=20), st.sampled_from([0o644, 0o755, None])),
        min_size=1,
        max_size=6,
    )
)
def test_any_scan_is_what_git_lists(
    files: dict[str, tuple[bytes, int | None]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q", root], check=True)
    for path, (content, mode) in files.items():
        place = root / path
        if any(part.is_file() or part.is_symlink() for part in place.parents) or place.is_dir():
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        if mode is None:
            place.symlink_to("to/" + content.hex())
        else:
            place.write_bytes(content)
            place.chmod(mode)
    git(root, "add", "-A")
    git(root, "-c", "user.name=n", "-c", "user.email=n@example.invalid", "commit", "-qm", "m")
    assert scanned(root) == listed_by_git(root)


def test_what_git_does_not_know_is_seen_too(tmp_path: Path) -> None:
    (tmp_path / "hollow/inner").mkdir(parents=True)
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "door"))
        found = {entry.path: (entry.mode, entry.sha256) for entry in scan_tree(tmp_path)}
    assert found == {
        "hollow/inner": ("folder", EMPTY),
        "pipe": ("fifo", EMPTY),
        "door": ("socket", EMPTY),
    }


def test_a_link_is_never_followed(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("s")
    (tmp_path / "root/loop").symlink_to(".")
    (tmp_path / "root/out").symlink_to("../outside")
    assert {entry.path: entry.mode for entry in scan_tree(tmp_path / "root")} == {
        "loop": "120000",
        "out": "120000",
    }


def test_a_very_deep_folder_does_not_end_the_scan(tmp_path: Path) -> None:
    subprocess.run(["mkdir", "-p", "/".join("d" * 1500)], cwd=tmp_path, check=True)
    assert [entry.mode for entry in scan_tree(tmp_path)] == ["folder"]
    subprocess.run(["rm", "-r", str(tmp_path / "d")], check=True)


def test_what_lies_deeper_than_any_path_is_an_entry_of_its_own(tmp_path: Path) -> None:
    # No path is that long, but a program that walks down step by step gets there.
    walk = "import os\nfor _ in range(40):\n    os.mkdir('d' * 200)\n    os.chdir('d' * 200)\n"
    subprocess.run([sys.executable, "-c", walk + "open('f', 'w')"], cwd=tmp_path, check=True)
    (tmp_path / "near").write_text("n")
    modes = sorted(entry.mode for entry in scan_tree(tmp_path))
    assert modes == ["100644", "too-deep"]
    subprocess.run(["rm", "-r", str(tmp_path / ("d" * 200))], check=True)


def test_a_file_whose_path_is_just_too_long_is_an_entry_of_its_own(tmp_path: Path) -> None:
    room = 4094 - len(os.fsencode(tmp_path))  # for the folders; the kernel counts a NUL too
    names = ["d" * 200] * (room // 201 - 1)
    names.append("e" * (room - sum(len(name) + 1 for name in names) - 1))
    folder = tmp_path / "/".join(names)
    folder.mkdir(parents=True)
    handle = os.open(folder, os.O_RDONLY)
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=handle))
    os.close(handle)
    assert [entry.mode for entry in scan_tree(tmp_path)] == ["too-deep"]
    subprocess.run(["rm", "-r", str(tmp_path / names[0])], check=True)


def test_an_absent_folder_is_an_error_not_an_empty_tree(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(scan_tree(tmp_path / "absent"))


def test_an_entry_holds_the_permissions_that_the_audit_compares(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"x")
    path.chmod(0o604)
    assert entry_at(str(path), "f").permissions == 0o604
