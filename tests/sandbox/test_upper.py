"""The upper directory against the whole archive, after anything an agent may do to a tree."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sandbox_arms import PLAIN_ENVIRONMENT, OpenArm, python, seal_folder, write_files

from benchlib.contracts.boundaries import Sandbox, SealedWorkspace
from benchlib.contracts.tree import entry_at, scan_tree
from benchlib.sandbox import DockerSandbox
from benchlib.sandbox._docker_arm import DockerArm
from benchlib.sandbox._upper import LowerTree, UnreadableUpperError, merge_upper

MakeSandbox = Callable[..., Sandbox]

# Applies edits as an agent would; one that can't be done in the present tree is left undone.
EDITOR = """
import json, os, shutil, sys
from pathlib import Path
def remove(p):
    if os.path.isdir(p) and not os.path.islink(p): shutil.rmtree(p)
    else: os.remove(p)
def apply(kind, a, b):
    if kind in ("write", "append", "restore") and os.path.exists(a) and not os.path.isfile(a):
        raise OSError(a)  # to open a FIFO would wait for ever
    if kind == "write":
        os.makedirs(os.path.dirname(a) or ".", exist_ok=True); Path(a).write_text(b)
    elif kind == "append":
        with open(a, "a") as file: file.write(b)
    elif kind == "remove": remove(a)
    elif kind == "chmod": os.chmod(a, int(b, 8))
    elif kind == "link": os.symlink(b, a)
    elif kind == "relink": os.remove(a); os.symlink(b, a)
    elif kind == "hard link": os.link(a, b)
    elif kind == "folder": os.makedirs(a)
    elif kind == "rename": os.rename(a, b)
    elif kind == "move": shutil.move(a, b)
    elif kind == "replace": remove(a); os.makedirs(a); Path(a, b).write_text(b)
    elif kind == "restore":
        old = Path(a).read_text(); Path(a).write_text("other"); Path(a).write_text(old)
    elif kind == "touch": os.utime(a, (5, 5), follow_symlinks=False)
    elif kind == "fifo": os.mkfifo(a)
for edit in globals().get("EDITS") or json.loads(sys.argv[1]):
    try: apply(*edit)
    except (OSError, shutil.Error): pass
"""

TREE = {
    "a": b"file a",
    "d/a": b"",
    "d/b": b"text",
    "d/e/a": b"deep",
    "d/e/f/a": b"deeper",
    "e/a": b"1",
    "e/b": b"2",
    "f/only": b"lonely",
}
NAMES = st.sampled_from(["a", "b", "d", "e", "f", "only", "new", ".git", "x y", "ö"])
PATHS = st.one_of(
    st.sampled_from(sorted({*TREE, "d", "d/e", "d/e/f", "e", "f", "empty", "link", "run"})),
    st.lists(NAMES, min_size=1, max_size=3).map("/".join),
)
TEXTS = st.sampled_from(["", "text", "1", "other", "file a"])
EDITS = st.one_of(
    st.tuples(st.sampled_from(["write", "append"]), PATHS, TEXTS),
    st.tuples(
        st.sampled_from(["remove", "restore", "touch", "folder", "fifo"]), PATHS, st.just("")
    ),
    st.tuples(st.just("chmod"), PATHS, st.sampled_from(["644", "755", "700", "600", "4755"])),
    st.tuples(st.sampled_from(["link", "relink"]), PATHS, st.sampled_from(["a", "../..", "d/e"])),
    st.tuples(st.sampled_from(["hard link", "rename", "move"]), PATHS, PATHS),
    st.tuples(st.just("replace"), PATHS, NAMES),
)
SCRIPTS = st.lists(EDITS, min_size=1, max_size=25)


@pytest.fixture
def tree(tmp_path: Path) -> SealedWorkspace:
    root = tmp_path / "tree"
    write_files(root, {**TREE, "run": b"#!/bin/sh\n"})
    (root / "run").chmod(0o755)
    (root / "link").symlink_to("d/b")
    (root / "empty").mkdir()
    return seal_folder(root)


@pytest.mark.docker
@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(scripts=st.lists(SCRIPTS, min_size=1, max_size=2))
def test_the_fast_audit_finds_what_a_full_scan_finds(
    scripts: list[list[tuple[str, str, str]]], tree: SealedWorkspace
) -> None:
    sandbox = DockerSandbox("test-upper")
    arm = sandbox.open_arm(tree, PLAIN_ENVIRONMENT, agent_files={}, door=None)
    try:
        for script in scripts:  # a second turn meets the upper directory of the first
            ran = arm.run(
                ("python3", "-c", EDITOR, json.dumps(script)),
                environment={},
                timeout_seconds=60,
                output_limit_bytes=9999,
            )
            assert ran.stderr == b""
        _assert_both_ways_agree(arm, tree)
    finally:
        arm.close()


def _assert_both_ways_agree(arm: DockerArm, tree: SealedWorkspace) -> None:
    slow = DockerArm(arm._client, arm._container, tree, arm._lower, arm.facts, may_read_upper=False)
    fast, full = arm.finished(), slow.finished()
    assert (fast.method, full.method) == ("upper-directory", "full-scan")
    assert fast.entries == full.entries
    copies = tree.root.parent / "fast", tree.root.parent / "full"
    arm.copy_workspace(copies[0])
    slow.copy_workspace(copies[1])
    first, second = (sorted(scan_tree(copy)) for copy in copies)
    for copy in copies:
        subprocess.run(["rm", "-rf", str(copy)], check=True)
    assert first == second
    assert [one for one in first if one.mode != "folder"] == [
        one._replace(permissions=one.permissions & 0o777 | 0o400)
        for one in sorted(fast.entries)
        if one.mode in {"100644", "100755", "120000"}
    ]


@pytest.fixture
def overlay(tree: SealedWorkspace, tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """The same file system that the engine uses, mounted by us: merged and upper."""
    if os.geteuid() != 0:
        pytest.fail("only root can mount; these tests run where the engine's tests run")
    folders = {name: tmp_path / name for name in ("merged", "upper", "work")}
    for folder in folders.values():
        folder.mkdir()
    options = f"lowerdir={tree.root},upperdir={folders['upper']},workdir={folders['work']}"
    mount = ["mount", "-t", "overlay", "overlay", "-o", options, str(folders["merged"])]
    subprocess.run(mount, check=True)
    yield folders["merged"], folders["upper"]
    subprocess.run(["umount", str(folders["merged"])], check=True)


EXACT = {
    "a folder replaced by an equal one": ["rm -r e", "mkdir e", "printf 1 > e/a", "printf 2 > e/b"],
    "a folder replaced by an empty one": ["rm -r d", "mkdir d"],
    "a folder emptied": ["rm f/only"],
    "a nested folder emptied": ["rm -r d/e/f/a"],
    "a folder removed whole": ["rm -r d"],
    "a folder replaced by a file": ["rm -r d", "echo x > d"],
    "a folder replaced by a link": ["rm -r d", "ln -s e d"],
    "a file replaced by a folder": ["rm a", "mkdir a", "echo x > a/b"],
    "a file replaced by an empty folder": ["rm a", "mkdir a"],
    "permissions alone": ["chmod 600 a", "chmod 700 d/e"],
    "an empty folder filled": ["echo x > empty/new"],
    "an empty folder filled and emptied": ["echo x > empty/new", "rm empty/new"],
    "an empty folder removed": ["rmdir empty"],
    "an empty folder removed and made again": ["rmdir empty", "mkdir empty"],
    "a folder moved": ["mv d moved"],
    "a folder moved and back": ["mv d moved", "mv moved d"],
    "a folder moved over a removed one": ["rm -r e", "mv d e"],
    "a file removed and written again": ["rm a", "printf 'file a' > a"],
    "a link to elsewhere": ["ln -sfn e link"],
    "nothing but times": ["touch -d 2001-01-01 a d d/e"],
    "opaque within opaque": ["rm -r d", "mkdir -p d/e", "rm -r d/e", "mkdir d/e", "echo x > d/e/a"],
    "a hard link to an unchanged file": ["ln d/b d/c"],
    "a fifo": ["mkfifo pipe", "rm e/a", "mkfifo e/a"],
}


@pytest.mark.docker
@pytest.mark.parametrize("commands", EXACT.values(), ids=EXACT.keys())
def test_each_way_to_change_a_tree_is_read_exactly(
    commands: list[str], overlay: tuple[Path, Path], tree: SealedWorkspace
) -> None:
    merged, upper = overlay
    for command in commands:
        subprocess.run(["sh", "-c", command], cwd=merged, check=True)
    expected = sorted(scan_tree(merged), key=lambda entry: os.fsencode(entry.path))
    found = merge_upper(upper, LowerTree(tree.entries))
    assert list(found.entries) == expected
    for path, place in found.places.items():
        assert entry_at(str(place), path)[:4] == entry_at(str(merged / path), path)[:4]


@pytest.mark.docker
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(script=SCRIPTS)
def test_any_edits_are_read_exactly(
    script: list[tuple[str, str, str]],
    overlay: tuple[Path, Path],
    tree: SealedWorkspace,
) -> None:
    """The mount is shared: each example goes on from the tree that the last one left."""
    merged, upper = overlay
    with contextlib.chdir(merged):
        exec(EDITOR, {"EDITS": script})
    wanted = scan_tree(merged, leave_out=frozenset([".git"]))
    expected = sorted(wanted, key=lambda entry: os.fsencode(entry.path))
    assert list(merge_upper(upper, LowerTree(tree.entries)).entries) == expected


@pytest.mark.docker
def test_after_an_untouched_turn_the_entries_are_the_sealed_ones_themselves(
    make_sandbox: MakeSandbox, open_arm: OpenArm, sealed: SealedWorkspace
) -> None:
    arm = open_arm(make_sandbox("docker"))
    python(arm, "import os; os.utime('README.md'); open('README.md').read()")
    finished = arm.finished()
    assert finished.method == "upper-directory"
    assert finished.entries == tuple(LowerTree(sealed.entries).entries)


@pytest.mark.docker
@pytest.mark.parametrize(
    ("name", "mark", "value"),
    [
        ("folder", "trusted.overlay.redirect", b"/elsewhere"),
        ("file", "trusted.overlay.metacopy", b""),
        ("folder", "trusted.overlay.opaque", b"x"),
        ("file", "trusted.overlay.unheard-of", b"y"),
        ("folder", "trusted.overlay.unheard-of", b"y"),
        ("file", "user.overlay.opaque", b"y"),
        ("folder", "user.overlay.opaque", b"y"),
    ],
)
def test_a_mark_whose_meaning_is_not_known_makes_the_directory_unreadable(
    name: str, mark: str, value: bytes, tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    os.setxattr(tmp_path / name, mark, value)
    with pytest.raises(UnreadableUpperError):
        merge_upper(tmp_path, LowerTree(()))


@pytest.mark.docker
def test_marks_that_say_only_where_a_copy_came_from_change_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for mark in ("trusted.overlay.origin", "trusted.overlay.impure", "user.note"):
        os.setxattr(tmp_path / "file", mark, b"y")
    assert [entry.path for entry in merge_upper(tmp_path, LowerTree(())).entries] == ["file"]
