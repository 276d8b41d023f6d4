from __future__ import annotations

import os
import random
import shutil
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchlib.contracts.boundaries import FinishedTree, SealedWorkspace
from benchlib.contracts.paths import matches_output
from benchlib.contracts.tree import TreeEntry, laid_permissions, scan_tree, tree_sha256
from benchlib.run.audit import KNOWN_WRITERS, audit, known_writer

TREE = {
    "app.py": b"x = 1\n",
    "run.sh": b"#!/bin/sh\n",
    "src/a.py": b"",
    "src/deep/b.py": b"b",
    "docs/guide.md": b"guide",
}


def entries_of(root: Path) -> tuple[TreeEntry, ...]:
    found = scan_tree(root, leave_out=frozenset([".git"]))
    return tuple(sorted(found, key=lambda entry: os.fsencode(entry.path)))


def sealed_of(root: Path) -> SealedWorkspace:
    entries = entries_of(root)
    return SealedWorkspace(root, entries, tree_sha256(entries), "0" * 64)


def finished_of(root: Path) -> FinishedTree:
    return FinishedTree(entries_of(root), "full-scan")


@pytest.fixture
def sealed(tmp_path: Path) -> SealedWorkspace:
    root = tmp_path / "sealed"
    for name, content in TREE.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    (root / "run.sh").chmod(0o755)
    (root / "link").symlink_to("app.py")
    return sealed_of(root)


@pytest.fixture
def work(sealed: SealedWorkspace, tmp_path: Path) -> Path:
    shutil.copytree(sealed.root, tmp_path / "work", symlinks=True)
    return tmp_path / "work"


def found(
    sealed: SealedWorkspace, work: Path, allowed: tuple[str, ...] = ()
) -> list[tuple[str, str]]:
    report = audit(sealed, finished_of(work), allowed)
    return [(one.path, one.change) for one in report.mutations]


def test_an_untouched_workspace_has_no_mutation(sealed: SealedWorkspace, work: Path) -> None:
    report = audit(sealed, finished_of(work), ())
    assert (report.mutations, report.undeclared, report.method) == ((), (), "full-scan")
    assert report.before == report.after == sealed.sha256


def _replace(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


CHANGES = {
    "added": (lambda w: (w / "new.txt").write_text("x"), [("new.txt", "added")]),
    "added link": (lambda w: (w / "new").symlink_to("x"), [("new", "added")]),
    "added fifo": (lambda w: os.mkfifo(w / "pipe"), [("pipe", "added")]),
    "removed": (lambda w: (w / "app.py").unlink(), [("app.py", "removed")]),
    "content": (lambda w: (w / "app.py").write_text("x"), [("app.py", "content")]),
    "mode": (lambda w: (w / "app.py").chmod(0o755), [("app.py", "mode")]),
    "other bits": (lambda w: (w / "app.py").chmod(0o600), [("app.py", "mode")]),
    "set-user-id": (lambda w: (w / "run.sh").chmod(0o4755), [("run.sh", "mode")]),
    "content and mode": (
        lambda w: ((w / "app.py").write_text("x"), (w / "app.py").chmod(0o700)),
        [("app.py", "content"), ("app.py", "mode")],
    ),
    "link target": (
        lambda w: (_replace(w / "link"), (w / "link").symlink_to("run.sh")),
        [("link", "link-target")],
    ),
    "link to file": (
        lambda w: (_replace(w / "link"), (w / "link").write_bytes(b"app.py")),
        [("link", "type")],
    ),
    "file to link": (
        lambda w: (_replace(w / "app.py"), (w / "app.py").symlink_to("run.sh")),
        [("app.py", "type")],
    ),
    "file to fifo": (
        lambda w: (_replace(w / "app.py"), os.mkfifo(w / "app.py")),
        [("app.py", "type")],
    ),
    "file to folder": (
        lambda w: (_replace(w / "app.py"), (w / "app.py").mkdir(), (w / "app.py/x").touch()),
        [("app.py", "type"), ("app.py/x", "added")],
    ),
    "file to empty folder": (
        lambda w: (_replace(w / "app.py"), (w / "app.py").mkdir()),
        [("app.py", "type")],
    ),
    "file to folder of empty folders": (
        lambda w: (_replace(w / "app.py"), (w / "app.py" / "x").mkdir(parents=True)),
        [("app.py", "type")],
    ),
    "folder to file": (
        lambda w: (_replace(w / "docs"), (w / "docs").write_text("x")),
        [("docs", "type"), ("docs/guide.md", "removed")],
    ),
    "renamed": (
        lambda w: (w / "app.py").rename(w / "b.py"),
        [("app.py", "removed"), ("b.py", "added")],
    ),
    "an empty folder": (lambda w: (w / "empty").mkdir(), []),
    "a folder emptied": (lambda w: (w / "docs/guide.md").unlink(), [("docs/guide.md", "removed")]),
    "a changed time": (lambda w: os.utime(w / "app.py", (1, 1)), []),
    "written and restored": (
        lambda w: ((w / "app.py").write_text("x"), (w / "app.py").write_bytes(TREE["app.py"])),
        [],
    ),
    "the agent's repository": (lambda w: ((w / ".git").mkdir(), (w / ".git/x").touch()), []),
    "a nested repository": (
        lambda w: ((w / "src/.git").mkdir(), (w / "src/.git/x").touch()),
        [("src/.git/x", "added")],
    ),
}


@pytest.mark.parametrize(("change", "expected"), CHANGES.values(), ids=CHANGES.keys())
def test_each_kind_of_change_is_told_as_what_it_is(
    change: object, expected: list[tuple[str, str]], sealed: SealedWorkspace, work: Path
) -> None:
    change(work)
    assert found(sealed, work) == expected
    report = audit(sealed, finished_of(work), ())
    assert report.before == sealed.sha256
    assert report.after == tree_sha256(one for one in entries_of(work) if one.mode != "folder")


def test_permissions_are_compared_with_what_an_arm_was_given_not_with_the_preparers(
    sealed: SealedWorkspace, work: Path
) -> None:
    (sealed.root / "app.py").chmod(0o640)
    assert found(sealed_of(sealed.root), work) == []


@pytest.mark.parametrize(
    ("allowed", "declared"),
    [
        (("app.py",), True),
        (("src",), False),
        (("**/app.py",), True),
        (("app",), False),
        ((), False),
    ],
)
def test_a_mutation_is_declared_by_its_path(
    allowed: tuple[str, ...], declared: bool, sealed: SealedWorkspace, work: Path
) -> None:
    (work / "app.py").write_text("x")
    (mutation,) = audit(sealed, finished_of(work), allowed).mutations
    assert mutation.is_declared == declared
    assert (mutation.declare_with is None) == declared


def test_names_with_odd_bytes_are_shown_escaped_and_cannot_be_declared(
    sealed: SealedWorkspace, work: Path
) -> None:
    for name in (b"odd\xff", b"esc\x1b[31m", b"line\nbreak", b"back\\slash"):
        (work / os.fsdecode(name)).write_text("x")
    mutations = audit(sealed, finished_of(work), ()).mutations
    assert [one.path for one in mutations] == [
        "back\\slash",
        "esc\\x1b[31m",
        "line\\nbreak",
        "odd\\udcff",
    ]
    assert {one.declare_with for one in mutations} == {None}


def test_a_name_that_is_as_long_as_names_can_be_fits_a_receipt(
    sealed: SealedWorkspace,
) -> None:
    path = "/".join(["\udcff" * 255] * 15)
    finished = FinishedTree((*sealed.entries, TreeEntry(path, "100644", 0, "0" * 64)), "full-scan")
    (mutation,) = audit(sealed, finished, ()).mutations
    assert len(mutation.path) <= 4200


CASE_14 = {
    "__pycache__/app.cpython-311.pyc": ("Python", "**/__pycache__"),
    ".pytest_cache/v/cache/nodeids": ("pytest", "**/.pytest_cache"),
    "src/.mypy_cache/3.11/a.json": ("mypy", "**/.mypy_cache"),
    ".ruff_cache/x": ("ruff", "**/.ruff_cache"),
    ".hypothesis/examples/x": ("Hypothesis", "**/.hypothesis"),
    "node_modules/left-pad/index.js": ("npm, yarn or pnpm", "**/node_modules"),
    "web/package-lock.json": ("npm", "**/package-lock.json"),
    "uv.lock": ("uv", "**/uv.lock"),
    "target/debug/app": ("Cargo or Maven", "**/target"),
    ".coverage": ("coverage.py", "**/.coverage"),
    ".coverage.host.1.2": ("coverage.py", "**/.coverage.host.1.2"),
    ".aider.chat.history.md": ("Aider", "**/.aider.chat.history.md"),
    ".aider.tags.cache.v4/x": ("Aider", "**/.aider.tags.cache.v4"),
    ".opencode/package.json": ("OpenCode", "**/.opencode"),
    "lib.egg-info/PKG-INFO": ("setuptools", "**/lib.egg-info"),
    "nohup.out": ("nohup", "**/nohup.out"),
}


@pytest.mark.parametrize(("path", "told"), CASE_14.items(), ids=CASE_14.keys())
def test_case_14_what_a_tool_wrote_is_told_with_the_line_that_declares_it(
    path: str, told: tuple[str, str], sealed: SealedWorkspace, work: Path
) -> None:
    (work / path).parent.mkdir(parents=True, exist_ok=True)
    (work / path).write_text("x")
    (mutation,) = audit(sealed, finished_of(work), ("app.py",)).undeclared
    tool, line = told
    assert (mutation.known_writer or "").split(":")[0] == tool
    assert mutation.declare_with == line
    assert audit(sealed, finished_of(work), ("app.py", line)).undeclared == ()


@pytest.mark.parametrize("path", ["src/target.py", "my__pycache__/x", "uv.lock.md", "cargo/lock"])
def test_an_ordinary_path_has_no_known_writer(path: str) -> None:
    assert known_writer(path) is None


def test_every_row_of_known_writers_gives_its_reason() -> None:
    assert all(row.tool and row.evidence for row in KNOWN_WRITERS)


NAMES = st.sampled_from(["a", "b", "app.py", "src", "deep", "docs", "link", "run.sh", "ö"])
PATHS = st.one_of(
    st.sampled_from([*TREE, "src", "src/deep", "docs", "link"]),
    st.lists(NAMES, min_size=1, max_size=3).map("/".join),
)
KINDS = ["write", "remove", "chmod", "link", "folder", "fifo", "touch"]
EDITS = st.lists(st.tuples(st.sampled_from(KINDS), PATHS, st.integers(0, 3)), max_size=15)


def _edit(root: Path, kind: str, path: str, choice: int) -> None:
    location = root / path
    if kind == "write":
        location.parent.mkdir(parents=True, exist_ok=True)
        if not stat.S_ISFIFO(location.stat().st_mode if location.exists() else 0):
            location.write_bytes([b"", b"b", b"x = 1\n", b"new"][choice])  # a FIFO would wait
    elif kind == "remove":
        _replace(location)
    elif kind == "chmod":
        location.chmod([0o644, 0o755, 0o600, 0o4755][choice])
    elif kind == "link":
        location.symlink_to(["app.py", "..", "nowhere", "src"][choice])
    elif kind == "folder":
        location.mkdir(parents=True)
    elif kind == "fifo":
        os.mkfifo(location)
    else:
        os.utime(location, (choice, choice), follow_symlinks=False)


def _snapshot(root: Path) -> dict[str, tuple[object, ...]]:
    """An oracle of its own: `os.walk`, whole contents, no digests, folders as such."""
    seen: dict[str, tuple[object, ...]] = {}
    for parent, folders, files in os.walk(root):
        for name in (*folders, *files):
            location = Path(parent, name)
            status = location.lstat()
            path = os.path.relpath(location, root)
            if stat.S_ISLNK(status.st_mode):
                seen[path] = ("link", os.readlink(location))  # noqa: PTH115 - untidied
            elif stat.S_ISREG(status.st_mode):
                seen[path] = ("file", location.read_bytes(), stat.S_IMODE(status.st_mode))
            else:
                seen[path] = (stat.S_IFMT(status.st_mode),)
    return seen


def _by_brute_force(before: Path, after: Path) -> set[tuple[str, str]]:
    was, now = _snapshot(before), _snapshot(after)
    folder = (stat.S_IFDIR,)
    changes = set()
    for path in was.keys() | now.keys():
        old, new = was.get(path, folder), now.get(path, folder)
        if path not in was and new != folder:
            changes.add((path, "added"))
        elif path not in now and old != folder:
            changes.add((path, "removed"))
        elif old[0] != new[0]:
            changes.add((path, "type"))
        elif old[0] == "link" and old != new:
            changes.add((path, "link-target"))
        elif old[0] == "file":
            changes |= {(path, "content")} if old[1] != new[1] else set()
            changes |= {(path, "mode")} if old[2] != new[2] else set()
    return changes


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(edits=EDITS)
def test_the_audit_finds_what_a_brute_force_comparison_finds(
    edits: list[tuple[str, str, int]], sealed: SealedWorkspace, tmp_path: Path
) -> None:
    work = tmp_path / "edited"
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(sealed.root, work, symlinks=True)
    for kind, path, choice in edits:
        try:
            _edit(work, kind, path, choice)
        except OSError:
            continue  # it can't be done in the tree as it is by now
    report = audit(sealed, finished_of(work), ("src",))
    assert {(one.path, one.change) for one in report.mutations} == _by_brute_force(
        sealed.root, work
    )
    assert len({(one.path, one.change) for one in report.mutations}) == len(report.mutations)
    assert all(one.is_declared == matches_output(one.path, "src") for one in report.mutations)


def test_mutations_stand_in_the_order_of_their_paths_bytes(sealed: SealedWorkspace) -> None:
    names = ["z", "a", "\U0001f600", "\udcff", "é", "a/b", "a-b"]
    random.Random(1).shuffle(names)
    added = tuple(TreeEntry(name, "100644", 0, "0" * 64) for name in names)
    report = audit(sealed, FinishedTree((*sealed.entries, *added), "upper-directory"), ())
    shown = [one.path for one in report.mutations]
    assert shown == ["a", "a-b", "a/b", "z", "é", "\U0001f600", "\\udcff"]
    assert report.method == "upper-directory"


def test_what_the_sealed_files_permissions_were_laid_as_is_one_rule_for_all() -> None:
    assert [laid_permissions(mode) for mode in ("100644", "100755", "120000")] == [
        0o644,
        0o755,
        0o777,
    ]
