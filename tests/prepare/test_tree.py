"""A tree from Git objects alone: from every kind of location, and refused for every reason."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prepare.conftest import Serve
from prepare.corpora import CASES, git, repository_with, target_of, tree_of

from benchlib.contracts.fixture import Declarations, GitCorpus
from benchlib.contracts.paths import path_fault
from benchlib.contracts.tree import scan_tree, tree_sha256
from benchlib.errors import InputError, OutsideError
from benchlib.prepare import BuiltTree, build_tree, tree_on_disk
from benchlib.prepare._names import _ORDINARY_PATH, name_faults

PHRASE = b"ANSWER-FROM-THE-FUTURE"
FILES = {"README.md": "# Desk\n", "src/app.py": "WIDTH = 62\n", "src/deep/er/x.txt": "", "-rf": "x"}
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 12\n"


def build(
    base: Path,
    location: str,
    commit: str,
    declarations: Declarations | None = None,
    name: str = "t",
) -> BuiltTree:
    return build_tree(
        GitCorpus(kind="git", location=location, commit=commit),
        base=base,
        destination=base / name,
        declarations=declarations or Declarations(),
    )


# --- where it comes from -------------------------------------------------------------------------


def _bare(folder: Path) -> str:
    git("clone", "-q", "--bare", "repository", "bare.git", cwd=folder)
    return "bare.git"


def _shallow(folder: Path) -> str:
    git("clone", "-q", "--depth=1", f"file://{folder}/repository", "shallow", cwd=folder)
    return "shallow"


def _linked_worktree(folder: Path) -> str:
    git("worktree", "add", "-q", "--detach", "../linked", cwd=folder / "repository")
    return "linked"


def _borrowing(folder: Path) -> str:
    git("clone", "-q", "--shared", "repository", "borrowing", cwd=folder)
    return "borrowing"


def _bundle(folder: Path) -> str:
    git("bundle", "create", "-q", "../all.bundle", "--all", cwd=folder / "repository")
    return "all.bundle"


def _url(folder: Path) -> str:
    return f"file://{folder}/repository"


def _absolute(folder: Path) -> str:
    return str(folder / "repository")


@pytest.mark.parametrize(
    "made", [_bare, _shallow, _linked_worktree, _borrowing, _bundle, _url, _absolute]
)
def test_every_kind_of_location_gives_the_same_tree(made: object, tmp_path: Path) -> None:
    built = tree_of(tmp_path, FILES, {"link": "src/app.py"})
    assert callable(made)
    other = build(tmp_path, made(tmp_path), built.receipt.commit)
    assert other.receipt == built.receipt
    assert other.entries == built.entries
    assert tree_sha256(scan_tree(other.root)) == built.receipt.tree_sha256


@pytest.mark.parametrize("how", ["smart", "plain"])
def test_a_tree_comes_over_http(how: str, serve: Serve, tmp_path: Path) -> None:
    built = tree_of(tmp_path, FILES)
    served = tmp_path / "served"
    served.mkdir()
    git("clone", "-q", "--bare", "repository", "served/desk.git", cwd=tmp_path)
    git("update-server-info", cwd=served / "desk.git")
    url = f"{serve(served, how)}/desk.git"
    assert build(tmp_path, url, built.receipt.commit).receipt == built.receipt


def test_a_commit_that_only_an_old_branch_holds_comes_over_http(
    serve: Serve, tmp_path: Path
) -> None:
    first = tree_of(tmp_path, FILES)
    repository = tmp_path / "repository"
    git("commit", "-q", "--allow-empty", "-m", "later", cwd=repository)
    served = tmp_path / "served"
    served.mkdir()
    git("clone", "-q", "--bare", "repository", "served/desk.git", cwd=tmp_path)
    git("update-server-info", cwd=served / "desk.git")
    for how in ("smart", "plain"):
        url = f"{serve(served, how)}/desk.git"
        assert build(tmp_path, url, first.receipt.commit, name=how).receipt == first.receipt


def test_a_server_that_does_not_answer_is_somebody_elses_fault(
    serve: Serve, tmp_path: Path
) -> None:
    (tmp_path / "served").mkdir()
    url = f"{serve(tmp_path / 'served', 'plain')}/nothing.git"
    with pytest.raises(OutsideError) as failed:
        build(tmp_path, url, "1" * 40)
    assert url.partition("//")[2] in failed.value.place
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize(
    "location", ["ext::sh -c touch% ran", "ext://sh", "ftp://x/y", "gopher://x"]
)
def test_a_transport_that_runs_commands_or_is_unknown_is_refused(
    location: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as refused:
        build(tmp_path, location, "1" * 40)
    assert refused.value.field == "location"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("location", ["nowhere", ".", "-q", "--upload-pack=touch ran"])
def test_a_folder_that_is_no_repository_is_refused(location: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        build(tmp_path, location, "1" * 40)
    assert refused.value.found == repr(location)


def test_a_file_that_is_no_bundle_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.bundle").write_bytes(b"# v2 git bundle\nnonsense")
    with pytest.raises(InputError) as refused:
        build(tmp_path, "x.bundle", "1" * 40)
    assert "x.bundle" in refused.value.place


def test_a_repository_of_sha256_objects_is_read_too(tmp_path: Path) -> None:
    root = tmp_path / "new"
    root.mkdir()
    git("init", "-q", "--object-format=sha256", "-b", "main", ".", cwd=root)
    (root / "a.txt").write_text("a")
    git("add", ".", cwd=root)
    git("commit", "-q", "-m", "start", cwd=root)
    commit = git("rev-parse", "HEAD", cwd=root)
    assert len(commit) == 64
    assert [entry.path for entry in build(tmp_path, "new", commit).entries] == ["a.txt"]


# --- what has no say -----------------------------------------------------------------------------


def test_the_repositorys_future_does_not_reach_the_tree(tmp_path: Path) -> None:
    """Case 1: later commit, tag, branch, stash, reflog, ignored, untracked and edited files."""
    script = CASES / "apparatus" / "make_history_repo.sh"
    made = tmp_path / "made"
    commit = _run_script(script, made)
    git("clone", "-q", "--bare", str(made), "bare.git", cwd=tmp_path)
    git("config", "core.autocrlf", "true", cwd=made)
    (made / ".git/info/attributes").write_text("* text eol=crlf export-ignore\n")
    git("config", "uploadpack.allowAnySHA1InWant", "true", cwd=made)
    (tmp_path / "shallow").mkdir()
    git("init", "-q", "--bare", ".", cwd=tmp_path / "shallow")
    git("fetch", "-q", "--depth=1", f"file://{made}", commit, cwd=tmp_path / "shallow")
    trees = [
        build(tmp_path, one, commit, name=f"t-{one}") for one in ("made", "bare.git", "shallow")
    ]
    assert len({tree.sha256 for tree in trees}) == 1
    for tree in trees:
        assert [path for path in tree.root.rglob("*") if path.is_file()] == [
            tree.root / "src/settings.toml"
        ]
        assert (tree.root / "src/settings.toml").read_text() == "timeout = 30\n"
        assert PHRASE not in (tree.root / "src/settings.toml").read_bytes()


def _run_script(script: Path, folder: Path) -> str:
    done = subprocess.run(
        ["sh", str(script), str(folder)], capture_output=True, text=True, check=True
    )
    return done.stdout.strip().splitlines()[-1]


def test_hooks_of_the_repository_do_not_run(tmp_path: Path) -> None:
    commit = repository_with(tmp_path / "repository", FILES)
    for name in ("post-checkout", "reference-transaction", "post-index-change"):
        hook = tmp_path / "repository/.git/hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
        hook.chmod(0o755)
    git("config", "core.fsmonitor", f"touch {tmp_path}/ran", cwd=tmp_path / "repository")
    build(tmp_path, "repository", commit)
    build(tmp_path, f"file://{tmp_path}/repository", commit, name="u")
    assert not (tmp_path / "ran").exists()


def test_a_replace_ref_changes_nothing(tmp_path: Path) -> None:
    commit = repository_with(tmp_path / "repository", FILES)
    before = build(tmp_path, "repository", commit)
    blob = git("hash-object", "-w", "--stdin", cwd=tmp_path / "repository", stdin=b"other\n")
    old = git("rev-parse", f"{commit}:README.md", cwd=tmp_path / "repository")
    git("replace", old, blob, cwd=tmp_path / "repository")
    assert build(tmp_path, "repository", commit, name="u").entries == before.entries


def test_a_partial_clone_is_refused_and_fetches_nothing(tmp_path: Path) -> None:
    commit = repository_with(tmp_path / "repository", FILES)
    git("config", "uploadpack.allowFilter", "true", cwd=tmp_path / "repository")
    url = f"file://{tmp_path}/repository"
    git("clone", "-q", "--bare", "--filter=blob:none", url, "partial.git", cwd=tmp_path)
    before = sorted((tmp_path / "partial.git").rglob("*"))
    with pytest.raises(InputError) as refused:
        build(tmp_path, "partial.git", commit)
    assert {refused.value.field, *(one.field for one in refused.value.also)} == set(FILES)
    assert sorted((tmp_path / "partial.git").rglob("*")) == before


def test_the_umask_of_the_operator_does_not_reach_the_tree(tmp_path: Path) -> None:
    commit = repository_with(tmp_path / "repository", FILES)
    (tmp_path / "repository/run.sh").write_text("#!/bin/sh\n")
    (tmp_path / "repository/run.sh").chmod(0o755)
    git("add", ".", cwd=tmp_path / "repository")
    git("commit", "-q", "-m", "run", cwd=tmp_path / "repository")
    commit = git("rev-parse", "HEAD", cwd=tmp_path / "repository")
    old = os.umask(0o077)
    try:
        root = build(tmp_path, "repository", commit).root
    finally:
        os.umask(old)
    modes = {
        p.relative_to(root).as_posix(): stat.S_IMODE(p.stat().st_mode) for p in root.rglob("*")
    }
    assert modes["run.sh"] == modes["src"] == modes["src/deep/er"] == 0o755
    assert modes["README.md"] == modes["src/app.py"] == 0o644
    assert stat.S_IMODE(root.stat().st_mode) == 0o755


# --- what is refused -----------------------------------------------------------------------------


def _remove_object(repository: Path, object_id: str) -> None:
    path = repository / ".git/objects" / object_id[:2] / object_id[2:]
    path.chmod(0o644)
    path.unlink()


def test_every_missing_object_is_named_with_its_path(tmp_path: Path) -> None:
    commit = repository_with(tmp_path / "repository", FILES)
    gone = ("README.md", "src/app.py")
    ids = {p: git("rev-parse", f"{commit}:{p}", cwd=tmp_path / "repository") for p in gone}
    for object_id in ids.values():
        _remove_object(tmp_path / "repository", object_id)
    with pytest.raises(InputError) as refused:
        build(tmp_path, "repository", commit)
    errors = (refused.value, *refused.value.also)
    assert {one.field: one.found for one in errors} == {
        path: repr(f"object {object_id}: missing") for path, object_id in ids.items()
    }
    assert [path.name for path in tmp_path.iterdir()] == ["repository"]


def test_a_missing_folder_is_named_with_its_path(tmp_path: Path) -> None:
    commit = repository_with(tmp_path / "repository", FILES)
    object_id = git("rev-parse", f"{commit}:src/deep", cwd=tmp_path / "repository")
    _remove_object(tmp_path / "repository", object_id)
    with pytest.raises(InputError) as refused:
        build(tmp_path, "repository", commit)
    assert refused.value.field == "src/deep"
    assert object_id in refused.value.found


def test_an_object_that_git_cannot_read_is_an_error_that_names_it(tmp_path: Path) -> None:
    commit = repository_with(tmp_path / "repository", FILES)
    object_id = git("rev-parse", f"{commit}:src/app.py", cwd=tmp_path / "repository")
    path = tmp_path / "repository/.git/objects" / object_id[:2] / object_id[2:]
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:8] + b"garbage")
    with pytest.raises(InputError) as refused:
        build(tmp_path, "repository", commit)
    assert refused.value.field == "src/app.py"
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize("revision", ["absent", "HEAD^{tree}", "HEAD:README.md", "tag"])
def test_a_pin_that_is_no_commit_in_the_store_is_named(revision: str, tmp_path: Path) -> None:
    repository_with(tmp_path / "repository", FILES)
    git("tag", "-a", "tag", "-m", "x", cwd=tmp_path / "repository")
    pin = "a" * 40
    if revision != "absent":
        pin = git("rev-parse", revision, cwd=tmp_path / "repository")
    with pytest.raises(InputError) as refused:
        build(tmp_path, "repository", pin)
    assert refused.value.field == "commit"
    assert pin in refused.value.found


def test_all_reasons_come_in_one_report(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    repository_with(repository, {**FILES, "a.bin": POINTER, "Readme.md": "x", "aux.c": "x"})
    gitlink = "160000,1111111111111111111111111111111111111111,vendor/widget"
    git("update-index", "--add", "--cacheinfo", gitlink, cwd=repository)
    git("commit", "-q", "-m", "more", cwd=repository)
    commit = git("rev-parse", "HEAD", cwd=repository)
    _remove_object(repository, git("rev-parse", f"{commit}:src/app.py", cwd=repository))
    declared = Declarations(submodules=("vendor/gone",), lfs_pointers=("README.md",))
    with pytest.raises(InputError) as refused:
        build(tmp_path, "repository", commit, declared)
    fields = [one.field for one in (refused.value, *refused.value.also)]
    assert fields == [
        "README.md", "Readme.md", "a.bin", "aux.c", "src/app.py", "vendor/gone", "vendor/widget",
    ]  # fmt: skip
    assert "1111111111" in str(refused.value)


@pytest.mark.parametrize(
    ("content", "is_pointer"),
    [
        (POINTER, True),
        (POINTER.replace("git-lfs.github.com", "hawser.github.com"), True),
        ("\n" + POINTER, False),
        ("A pointer begins with\n" + POINTER, False),
        ("version https://git-lfs.github.com/spec/v10\n", False),
        (POINTER + "x" * 1024, False),
        ("version = 1\n", False),
    ],
)
def test_a_pointer_is_told_by_its_first_line_and_its_size(
    content: str, is_pointer: bool, tmp_path: Path
) -> None:
    commit = repository_with(tmp_path / "repository", {"x.bin": content})
    if is_pointer:
        with pytest.raises(InputError) as refused:
            build(tmp_path, "repository", commit)
        assert "LFS pointer" in refused.value.found
        declared = Declarations(lfs_pointers=("x.bin",))
        assert build(tmp_path, "repository", commit, declared).receipt.lfs_pointers == ("x.bin",)
    else:
        assert build(tmp_path, "repository", commit).receipt.lfs_pointers == ()


def _commit_of(repository: Path, *records: bytes) -> str:
    """Make a tree object by hand: Git's own commands would refuse such names."""
    raw = b"".join(records)
    tree = git(
        "hash-object", "-t", "tree", "--literally", "-w", "--stdin", cwd=repository, stdin=raw
    )
    return git("commit-tree", tree, "-m", "by hand", cwd=repository)


def _record(mode: str, name: str, object_id: str) -> bytes:
    return f"{mode} {name}".encode() + b"\0" + bytes.fromhex(object_id)


@pytest.mark.parametrize("name", ["..", ".", ".git", ".GIT", "git~1"])
def test_a_tree_object_made_by_hand_cannot_leave_the_tree(name: str, tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    repository_with(repository, FILES)
    src = git("rev-parse", "HEAD:src", cwd=repository)
    commit = _commit_of(repository, _record("40000", name, src))
    with pytest.raises(InputError) as refused:
        build(tmp_path, "repository", commit)
    assert {one.field for one in (refused.value, *refused.value.also)} == {
        f"{name}/app.py", f"{name}/deep/er/x.txt",
    }  # fmt: skip
    assert [path.name for path in tmp_path.iterdir()] == ["repository"]


def test_a_link_and_a_folder_of_one_name_cannot_write_outside(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    repository_with(repository, FILES)
    link = git("hash-object", "-w", "--stdin", cwd=repository, stdin=str(tmp_path).encode())
    src = git("rev-parse", "HEAD:src", cwd=repository)
    commit = _commit_of(repository, _record("120000", "x", link), _record("40000", "x", src))
    with pytest.raises(InputError) as refused:
        build(tmp_path, "repository", commit)
    assert refused.value.field == "x"
    assert [path.name for path in tmp_path.iterdir()] == ["repository"]


def test_two_entries_of_one_name_are_refused(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    repository_with(repository, FILES)
    readme = git("rev-parse", "HEAD:README.md", cwd=repository)
    commit = _commit_of(repository, *[_record("100644", "x", readme)] * 2)
    with pytest.raises(InputError, match="stands twice"):
        build(tmp_path, "repository", commit)


@pytest.mark.parametrize("target", [b"", b"a\0b", b"latin\xe9", b"x" * 4096])
def test_a_link_that_no_file_system_can_hold_is_refused(target: bytes, tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    repository_with(repository, FILES)
    link = git("hash-object", "-w", "--stdin", cwd=repository, stdin=target)
    commit = _commit_of(repository, _record("120000", "x", link))
    with pytest.raises(InputError) as refused:
        build(tmp_path, "repository", commit)
    assert (refused.value.field, "link target" in refused.value.found) == ("x", True)


def test_an_old_destination_is_never_written_into(tmp_path: Path) -> None:
    commit = repository_with(tmp_path / "repository", FILES)
    (tmp_path / "t").mkdir()
    with pytest.raises(InputError) as refused:
        build(tmp_path, "repository", commit)
    assert refused.value.place == str(tmp_path / "t")
    assert list((tmp_path / "t").iterdir()) == []


def test_a_large_file_arrives_whole(tmp_path: Path) -> None:
    content = b"0123456789abcdef" * 200_000
    built = tree_of(tmp_path, {"big.bin": content, "b.txt": "after it\n"})
    digests = {entry.path: entry.sha256 for entry in built.entries}
    assert digests["big.bin"] == hashlib.sha256(content).hexdigest()
    assert (built.root / "big.bin").read_bytes() == content
    assert (built.root / "b.txt").read_text() == "after it\n"


def test_a_link_keeps_its_target_as_stored(tmp_path: Path) -> None:
    built = tree_of(tmp_path, FILES, {"a": "./src//app.py", "b": "../out", "c": "/etc/passwd"})
    targets = {name: target_of(built.root / name) for name in "abc"}
    assert targets == {"a": b"./src//app.py", "b": b"../out", "c": b"/etc/passwd"}


# --- names, fast ---------------------------------------------------------------------------------

_ANY_NAME = st.text(
    st.sampled_from([*"abcAUXxuxgit019._-+@=,#()[]~! $%&'/\\:\n\té", "/", "/", "."]), max_size=30
) | st.sampled_from(["con", "aux.c", "a/prn", "COM1.txt", "lpt9", "a/.git/b", ".GIT", "git~1/x"])


@given(_ANY_NAME)
def test_the_fast_look_at_a_name_never_passes_what_the_rule_refuses(name: str) -> None:
    if _ORDINARY_PATH(name):
        assert path_fault(name) is None
        assert ".git" not in name.casefold().split("/")


def test_the_fast_look_passes_ordinary_names() -> None:
    names = [
        "src/app.py",
        "docs/a-b_c.md",
        "-rf",
        "~tilde",
        "x/y/z.tar.gz",
        "Makefile",
        ".gitignore",
    ]
    assert all(_ORDINARY_PATH(name) for name in names)


@given(
    st.lists(st.sampled_from(["a", "A", "a/b", "A/c", "b", "é", "e\u0301", "ß", "ss"]), unique=True)
)
def test_a_collision_is_found_exactly_where_folded_names_meet(paths: list[str]) -> None:
    blamed = {path for path, _ in name_faults(paths)}
    rest = [path for path in paths if path not in blamed]
    assert {path for path, _ in name_faults(rest)} == set()
    pairs = {"a": "A", "é": "e\u0301", "ß": "ss"}
    for one, other in pairs.items():
        assert not ({one, other} <= set(paths) and not {one, other} & blamed)


# --- adopting what a prebuild wrote --------------------------------------------------------------


def test_what_a_prebuild_wrote_is_adopted_as_a_tree(tmp_path: Path) -> None:
    built = tree_of(tmp_path, FILES)
    root = tmp_path / "after"
    shutil.copytree(built.root, root, symlinks=True)
    (root / ".git").mkdir()
    (root / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (root / "empty/inner").mkdir(parents=True)
    (root / "build").mkdir()
    (root / "build/app").write_text("#!/bin/sh\n")
    (root / "build/app").chmod(0o700)
    adopted = tree_on_disk(root, built.receipt)
    assert adopted.receipt.commit == built.receipt.commit
    assert adopted.receipt.entries == len(FILES) + 1
    assert [entry.path for entry in adopted.entries] == sorted([*FILES, "build/app"])
    assert adopted.sha256 == tree_sha256(scan_tree(root))
    assert stat.S_IMODE((root / "build/app").stat().st_mode) == 0o755
    assert not (root / ".git").exists()
    assert not (root / "empty").exists()


def test_a_prebuild_that_leaves_a_pipe_or_an_odd_name_is_refused(tmp_path: Path) -> None:
    built = tree_of(tmp_path, FILES)
    os.mkfifo(built.root / "pipe")
    (built.root / "aux.txt").write_text("")
    with pytest.raises(InputError) as refused:
        tree_on_disk(built.root, built.receipt)
    assert [one.field for one in (refused.value, *refused.value.also)] == ["aux.txt", "pipe"]
