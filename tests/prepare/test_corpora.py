"""Each bundle with its right outcome; the rules that give it stand beside the lists."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from prepare.corpora import (
    BUNDLES,
    NAMES,
    NO_VOCABULARY,
    build_bundle,
    clean_surfaces,
    disk_of,
    expected,
    git,
    target_of,
)

from benchlib.contracts.certification import Certification
from benchlib.contracts.fixture import Declarations, GitCorpus
from benchlib.errors import InputError
from benchlib.prepare import BuiltTree, Vocabulary, build_tree, certify, redact

BUILDABLE = tuple(name for name in NAMES if name != "odd-names")


def certified(built: BuiltTree, folder: Path, vocabulary: Vocabulary) -> Certification:
    return certify(
        clean_surfaces(folder / "surfaces", built),
        vocabulary=vocabulary,
        declarations=Declarations(),
    )


def test_all_seven_bundles_are_here() -> None:
    assert len(NAMES) == 7


@pytest.mark.parametrize("name", BUILDABLE)
def test_redaction_removes_what_is_listed_and_besides_only_links_into_it(
    name: str, tmp_path: Path
) -> None:
    built = build_bundle(name, tmp_path / "tree")
    _, receipt = redact(built, Declarations())
    removed = {one.path: one.reason for one in receipt.removed}
    assert expected(name).paths("redact") <= removed.keys()
    others = removed.keys() - expected(name).paths("redact")
    assert all(removed[path] == "link-to-redacted" for path in others)
    assert others == ({"docs/context.md"} if name == "links-and-cases" else set())


@pytest.mark.parametrize("name", BUILDABLE)
def test_what_is_kept_has_the_bytes_of_the_commit(name: str, tmp_path: Path) -> None:
    clean, _ = redact(build_bundle(name, tmp_path / "tree"), Declarations())
    git("clone", "-q", "--bare", str(BUNDLES / f"{name}.bundle"), "bare.git", cwd=tmp_path)
    kept = {entry.path: entry.mode for entry in clean.entries}
    assert expected(name).paths("keep") <= kept.keys()
    for path, mode in kept.items():
        blob = subprocess.run(
            ["git", "cat-file", "blob", f"{expected(name).commit}:{path}"],
            cwd=tmp_path / "bare.git", capture_output=True, check=True,
        ).stdout  # fmt: skip
        location = clean.root / path
        is_link = mode == "120000"
        assert (target_of(location) if is_link else location.read_bytes()) == blob


@pytest.mark.parametrize("name", BUILDABLE)
def test_certification_finds_what_is_listed_and_nothing_else(name: str, tmp_path: Path) -> None:
    clean, _ = redact(build_bundle(name, tmp_path / "tree"), Declarations())
    found = certified(clean, tmp_path, NO_VOCABULARY).findings
    assert {(one.path, one.kind) for one in found} == expected(name).flags
    assert not {one.path for one in found} & expected(name).paths("not_flag")


def test_an_unredacted_tree_has_a_finding_for_each_path_that_redaction_removes(
    tmp_path: Path,
) -> None:
    built = build_bundle("links-and-cases", tmp_path / "tree")
    found = certified(built, tmp_path, NO_VOCABULARY).findings
    flagged = {one.path for one in found if one.kind == "auto-loaded-context"}
    assert expected("links-and-cases").paths("redact") <= flagged


@pytest.mark.parametrize("name", ["submodule-and-links", "attributes", "odd-names"])
def test_a_refusal_names_every_path_that_is_listed_and_no_other(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        build_bundle(name, tmp_path / "tree", Declarations())
    shown = {part["place"] for part in refused.value.parts()}
    assert len(shown) == 1
    paths = {error.field for error in (refused.value, *refused.value.also)}
    assert len(paths) == len(expected(name).paths("refuse"))
    for path in expected(name).paths("refuse"):
        raw = path.encode("utf-8", "backslashreplace").decode()
        assert raw.replace("\t", "\\t").replace("\n", "\\n") in paths
    assert list(tmp_path.iterdir()) == []


def test_no_refused_name_can_disturb_a_terminal(tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        build_bundle("odd-names", tmp_path / "tree")
    message = str(refused.value)
    assert all(character.isprintable() or character == "\n" for character in message)
    assert "tab\\there.txt" in message


def test_names_that_are_odd_but_portable_are_kept(tmp_path: Path) -> None:
    """The refused names of the bundle are left out of the commit; the rest must arrive."""
    git("clone", "-q", "--bare", str(BUNDLES / "odd-names.bundle"), "bare.git", cwd=tmp_path)
    bare = tmp_path / "bare.git"
    listed = git("ls-tree", "-z", "-r", expected("odd-names").commit, cwd=bare).split("\0")[:-1]
    refused = expected("odd-names").paths("refuse")
    kept = [one for one in listed if one.partition("\t")[2] not in refused]
    index = "\0".join(one.replace(" blob ", " ") for one in kept) + "\0"
    git("update-index", "-z", "--index-info", cwd=bare, stdin=os.fsencode(index))
    tree = git("write-tree", cwd=bare)
    commit = git("commit-tree", tree, "-m", "odd", cwd=bare)
    built = build_tree(
        GitCorpus(kind="git", location="bare.git", commit=commit),
        base=tmp_path,
        destination=tmp_path / "tree",
        declarations=Declarations(),
    )
    assert expected("odd-names").paths("keep") <= {entry.path for entry in built.entries}
    assert len(built.entries) == 20 - len(refused)


def test_the_tree_has_as_many_entries_as_the_list_says(tmp_path: Path) -> None:
    for name in BUILDABLE:
        receipt = build_bundle(name, tmp_path / name).receipt
        assert receipt.entries + len(receipt.submodules) == expected(name).raw["entries"]
        assert receipt.git_tree == expected(name).raw["tree"]


def test_links_that_lead_nowhere_are_kept_and_named(tmp_path: Path) -> None:
    built = build_bundle("submodule-and-links", tmp_path / "tree")
    dangling = {link.path: link.target for link in built.receipt.dangling_links}
    assert dangling.keys() == {
        "etc/localtime", "loop/a", "loop/b", "notes/gone", "patches/one", "patches/two", "up",
    }  # fmt: skip
    assert (built.root / "notes/gone").is_symlink()
    assert dangling["notes/gone"] == "removed-long-ago.txt"


@pytest.mark.parametrize(
    ("path", "holds"),
    [
        ("run.bat", b"\r\n"),
        (".git_archival.txt", b"$Format:"),
        ("ident.txt", b"$Id$"),
    ],
)
def test_no_attribute_filter_acts(path: str, holds: bytes, tmp_path: Path) -> None:
    root = build_bundle("attributes", tmp_path / "tree").root
    assert holds in (root / path).read_bytes()
    assert b"\r" not in (root / "unix.bat").read_bytes()
    assert (root / "empty.txt").read_bytes() == b""


@pytest.mark.parametrize(("revision", "leaks"), [("main", set()), ("main~2", {"docs/incident.md"})])
def test_the_answer_is_found_in_the_commit_that_still_says_it(
    revision: str, leaks: set[str], tmp_path: Path
) -> None:
    git("clone", "-q", "--bare", str(BUNDLES / "history-answers.bundle"), "bare.git", cwd=tmp_path)
    commit = git("rev-parse", revision, cwd=tmp_path / "bare.git")
    built = build_tree(
        GitCorpus(kind="git", location="bare.git", commit=commit),
        base=tmp_path,
        destination=tmp_path / "tree",
        declarations=Declarations(),
    )
    phrase = str(expected("history-answers").raw["solution_leak_phrase"])
    found = certified(built, tmp_path, Vocabulary((), (phrase,))).findings
    assert {one.path for one in found if one.kind == "solution-leak"} == leaks


def test_nothing_of_the_history_reaches_the_tree(tmp_path: Path) -> None:
    built = build_bundle("history-answers", tmp_path / "tree")
    names = [path.name for path in built.root.rglob("*")]
    assert not {".git", "refs", "ORIG_HEAD", "FETCH_HEAD", "logs"} & set(names)
    assert all(b"256th" not in one.read_bytes() for one in built.root.rglob("*") if one.is_file())


@pytest.mark.parametrize("verdict", ["flag", "not_flag"])
def test_the_strict_vocabulary_judges_identity_fields(verdict: str, tmp_path: Path) -> None:
    identity = expected("secrets-and-words").raw["graph_identity"]
    assert isinstance(identity, dict)
    built = build_bundle("history-answers", tmp_path / "tree")
    for number, name in enumerate(identity[verdict]):
        surfaces = clean_surfaces(tmp_path / f"surfaces-{number}", built)
        graph = surfaces.graphs["populated"]
        graph.write_text(graph.read_text().replace('"id": "n-1"', f'"id": "{name}"'))
        found = certify(surfaces, vocabulary=NO_VOCABULARY, declarations=Declarations()).findings
        assert bool(found) == (verdict == "flag"), name


@pytest.mark.parametrize("name", BUILDABLE)
def test_redacting_twice_is_redacting_once(name: str, tmp_path: Path) -> None:
    once, first = redact(build_bundle(name, tmp_path / "tree"), Declarations())
    on_disk = disk_of(once.root)
    twice, second = redact(once, Declarations())
    assert twice.entries == once.entries
    assert second.removed == ()
    assert second.before == second.after == first.after
    assert disk_of(once.root) == on_disk


@pytest.mark.parametrize("name", BUILDABLE)
def test_removed_and_kept_are_all_entries_and_the_receipt_is_by_path(
    name: str, tmp_path: Path
) -> None:
    built = build_bundle(name, tmp_path / "tree")
    clean, receipt = redact(built, Declarations())
    removed = [one.path for one in receipt.removed]
    assert removed == sorted(removed)
    assert len(removed) + len(clean.entries) == len(built.entries) == receipt.entries_before
    assert receipt.entries_after == len(clean.entries)


@pytest.mark.parametrize("name", BUILDABLE)
def test_no_link_dangles_after_redaction_unless_it_did_in_the_commit(
    name: str, tmp_path: Path
) -> None:
    built = build_bundle(name, tmp_path / "tree")
    before = {link.path for link in built.receipt.dangling_links}
    clean, _ = redact(built, Declarations())
    links = [clean.root / entry.path for entry in clean.entries if entry.mode == "120000"]
    after = {str(one.relative_to(clean.root)) for one in links if not _leads_into(clean.root, one)}
    assert after <= before


def _leads_into(root: Path, link: Path) -> bool:
    try:
        return link.resolve(strict=True).is_relative_to(root)
    except (OSError, RuntimeError):  # missing, or a loop
        return False


@pytest.mark.parametrize("name", BUILDABLE)
def test_certification_never_writes(name: str, tmp_path: Path) -> None:
    clean, _ = redact(build_bundle(name, tmp_path / "tree"), Declarations())
    surfaces = clean_surfaces(tmp_path / "surfaces", clean)
    before = disk_of(tmp_path)
    certify(surfaces, vocabulary=NO_VOCABULARY, declarations=Declarations())
    assert disk_of(tmp_path) == before


@pytest.mark.parametrize("name", BUILDABLE)
def test_a_clone_that_somebody_works_in_gives_the_same_receipts_as_a_bare_one(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = expected(name)
    bundle = str(BUNDLES / f"{name}.bundle")
    git("clone", "-q", "--bare", bundle, "bare.git", cwd=tmp_path)
    git("clone", "-q", "--no-checkout", bundle, "work", cwd=tmp_path)
    _disturb(tmp_path / "work", one.commit)
    receipts = []
    for location in ("bare.git", "work"):
        if location == "work":
            _disturb_environment(tmp_path, monkeypatch)
        built = build_tree(
            GitCorpus(kind="git", location=location, commit=one.commit),
            base=tmp_path,
            destination=tmp_path / f"tree-{location}",
            declarations=one.declarations,
        )
        _, redaction = redact(built, Declarations())
        receipts.append(built.receipt.canonical() + redaction.canonical())
    assert receipts[0] == receipts[1]


def _disturb(work: Path, commit: str) -> None:
    """Everything that may differ between two people's clones."""
    for setting in ("core.autocrlf=true", "core.quotePath=false", "core.eol=crlf"):
        git("config", *setting.split("="), cwd=work)
    git("checkout", "-q", "-f", commit, cwd=work)
    (work / ".git/info").mkdir(exist_ok=True)
    (work / ".git/info/attributes").write_text("* export-subst text eol=crlf ident\n")
    (work / "README.md").write_text("edited, not committed\n")
    (work / "CLAUDE.md").unlink(missing_ok=True)
    (work / "CLAUDE.md").write_text("untracked\n")
    git("add", "-A", cwd=work)
    blob = git("hash-object", "-w", "--stdin", cwd=work, stdin=b"replaced\n")
    readme = git("rev-parse", f"{commit}:README.md", cwd=work)
    git("replace", readme, blob, cwd=work)


def _disturb_environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    attributes = folder / "attributes"
    attributes.write_text("* text eol=crlf export-ignore\n")
    configuration = folder / "gitconfig"
    configuration.write_text(
        f"[core]\n\tautocrlf = true\n\tquotePath = true\n\tattributesFile = {attributes}\n"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(configuration))
    monkeypatch.setenv("GIT_DIR", str(folder / "nowhere.git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(folder / "nowhere.index"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(folder / "nowhere.objects"))
    monkeypatch.setenv("GIT_WORK_TREE", str(folder))
