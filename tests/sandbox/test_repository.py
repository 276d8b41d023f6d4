from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sandbox_arms import seal_folder, write_files

from benchlib.contracts.boundaries import SealedWorkspace
from benchlib.errors import DriftError, InputError
from benchlib.sandbox._layout import lay_out
from benchlib.sandbox._repository import write_repository

NAMES = st.sampled_from(["a", "a.b", "a-", "a0", "b", "ö", "x y", "é\n", "-f", ".hidden"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)


def git(workspace: Path, *words: str) -> str:
    ran = subprocess.run(
        ["git", "-c", "core.quotePath=false", "-C", str(workspace), *words],
        check=True,
        capture_output=True,
    )
    return os.fsdecode(ran.stdout)


def without_clashes(files: dict[str, bytes]) -> dict[str, bytes]:
    """A name can't be a file and a folder at once: the shorter path wins."""
    kept: dict[str, bytes] = {}
    for path in sorted(files, key=len):
        parents = {path[:end] for end, character in enumerate(path) if character == "/"}
        if not parents & kept.keys():
            kept[path] = files[path]
    return kept


@settings(max_examples=40, deadline=None)
@given(files=st.dictionaries(PATHS, st.binary(max_size=50), max_size=12))
def test_git_finds_the_written_repository_sound_clean_and_equal_to_its_own(
    files: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("tree")
    write_files(root, without_clashes(files))
    workspace = root.parent / f"{root.name}-laid"
    lay_out(seal_folder(root), workspace)
    assert git(workspace, "fsck", "--strict", "--full") == ""
    assert git(workspace, "status", "--porcelain", "--ignored") == ""
    theirs = root.parent / f"{root.name}-theirs"
    git(root, "init", "-q", str(theirs))
    git(theirs, "--work-tree", str(root), "add", "-A", "-f")
    assert git(workspace, "rev-parse", "HEAD^{tree}") == git(theirs, "write-tree")


def test_the_index_agrees_with_the_files_so_that_git_reads_none(
    sealed: SealedWorkspace, tmp_path: Path
) -> None:
    lay_out(sealed, tmp_path / "w")
    assert "README.md" in git(tmp_path / "w", "ls-files")
    # `diff-files` believes the recorded status and would list what it could not confirm.
    assert git(tmp_path / "w", "diff-files", "--name-only") == ""


def test_equal_trees_give_equal_bytes_whatever_their_permissions_and_times_were(
    sealed: SealedWorkspace, tmp_path: Path
) -> None:
    subprocess.run(["cp", "-r", str(sealed.root), str(tmp_path / "again")], check=True)
    (tmp_path / "again" / "README.md").chmod(0o600)
    for number, workspace in enumerate((sealed, seal_folder(tmp_path / "again"))):
        lay_out(workspace, tmp_path / f"w{number}")
    first, second = (_bytes_of(tmp_path / f"w{number}" / ".git") for number in (0, 1))
    assert first == second


def _bytes_of(folder: Path) -> dict[str, bytes]:
    return {
        str(one.relative_to(folder)): one.read_bytes() for one in folder.rglob("*") if one.is_file()
    }


def test_a_file_larger_than_a_chunk_is_stored_whole(tmp_path: Path) -> None:
    content = bytes(range(256)) * 20_000
    write_files(tmp_path / "t", {"big": content, "same": content})
    lay_out(seal_folder(tmp_path / "t"), tmp_path / "w")
    assert git(tmp_path / "w", "fsck", "--strict", "--full") == ""
    shown = subprocess.run(
        ["git", "-C", str(tmp_path / "w"), "show", "HEAD:big"], check=True, capture_output=True
    )
    assert hashlib.sha256(shown.stdout).digest() == hashlib.sha256(content).digest()


def test_names_that_are_not_utf8_are_committed_as_they_are(tmp_path: Path) -> None:
    write_files(tmp_path / "t", {os.fsdecode(b"odd\xff"): b"1", "line\nbreak": b"2"})
    lay_out(seal_folder(tmp_path / "t"), tmp_path / "w")
    assert git(tmp_path / "w", "ls-files", "-z").split("\0")[:2] == [
        "line\nbreak",
        os.fsdecode(b"odd\xff"),
    ]
    assert git(tmp_path / "w", "status", "--porcelain") == ""


def test_one_neutral_commit_that_an_agent_can_build_on(
    sealed: SealedWorkspace, tmp_path: Path
) -> None:
    lay_out(sealed, tmp_path / "w")
    assert git(tmp_path / "w", "log", "--format=%an %ae %at %s") == (
        "developer developer@localhost 1577836800 Initial commit\n"
    )
    (tmp_path / "w" / "new").write_text("x")
    git(tmp_path / "w", "add", "new")
    git(tmp_path / "w", "commit", "-q", "-m", "more")
    assert git(tmp_path / "w", "rev-list", "--count", "HEAD") == "2\n"


def test_a_file_that_is_not_the_sealed_one_is_drift(
    sealed: SealedWorkspace, tmp_path: Path
) -> None:
    (sealed.root / "src" / "app.py").write_bytes(b"ANSWER = 42\n")
    with pytest.raises(DriftError) as caught:
        write_repository(tmp_path / ".git", sealed.root, sealed.entries)
    assert caught.value.place == "src/app.py"


@pytest.mark.parametrize("name", [".git/config", ".git"])
def test_a_tree_with_git_data_is_refused(name: str, tmp_path: Path) -> None:
    write_files(tmp_path / "t", {name: b"x"})
    with pytest.raises(InputError) as caught:
        lay_out(seal_folder(tmp_path / "t"), tmp_path / "w")
    assert caught.value.place == name


def test_a_special_file_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    os.mkfifo(tmp_path / "t" / "pipe")
    with pytest.raises(InputError) as caught:
        lay_out(seal_folder(tmp_path / "t"), tmp_path / "w")
    assert (caught.value.place, caught.value.found) == ("pipe", "'fifo'")
