"""Real third-party projects, from their release archive to a sealed workspace."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
from prepare import archive
from prepare.archive import CLICK, REQUESTS, WENT_UNCHECKED, Pin, release_archive
from prepare.corpora import NO_VOCABULARY, clean_surfaces

from benchlib.contracts.fixture import ArchiveCorpus, Declarations
from benchlib.contracts.tree import scan_tree, tree_sha256
from benchlib.errors import RefusedError
from benchlib.prepare import BuiltTree, build_tree, certify, redact, seal

PINS = pytest.mark.parametrize("pin", [CLICK, REQUESTS], ids=lambda pin: pin.requirement)


def _built(pin: Pin, folder: Path) -> BuiltTree:
    return build_tree(
        ArchiveCorpus(kind="archive", location=str(release_archive(pin)), sha256=pin.sha256),
        base=folder,
        destination=folder / "tree",
        declarations=Declarations(),
    )


@PINS
def test_a_release_becomes_the_same_commit_and_tree_on_every_machine(
    pin: Pin, tmp_path: Path
) -> None:
    built = _built(pin, tmp_path)
    receipt = built.receipt
    assert (receipt.commit, receipt.tree_sha256) == (pin.commit, pin.tree_sha256)
    assert (receipt.archive_sha256, receipt.entries) == (pin.sha256, pin.entries)
    assert tree_sha256(scan_tree(built.root)) == pin.tree_sha256


@PINS
def test_every_file_has_the_bytes_of_the_archive(pin: Pin, tmp_path: Path) -> None:
    root = _built(pin, tmp_path).root
    with tarfile.open(release_archive(pin)) as tar:
        files = {one.name.partition("/")[2]: _content(tar, one) for one in tar if one.isreg()}
    on_disk = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}
    assert on_disk >= files.keys()
    for path, content in files.items():
        assert (root / path).read_bytes() == content


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(member)
    assert file is not None
    return file.read()


@PINS
def test_a_release_is_sealed_with_its_findings_declared_and_not_without(
    pin: Pin, tmp_path: Path
) -> None:
    clean, redaction = redact(_built(pin, tmp_path), Declarations())
    assert redaction.removed == ()
    surfaces = clean_surfaces(tmp_path / "surfaces", clean)
    undeclared = certify(surfaces, vocabulary=NO_VOCABULARY, declarations=Declarations())
    assert {(one.path, one.sha256) for one in undeclared.findings} == {
        (one.path, one.sha256) for one in pin.findings
    }
    if pin.findings:
        with pytest.raises(RefusedError):
            seal(clean, undeclared)
    declared = Declarations(findings=pin.findings)
    verdict = certify(surfaces, vocabulary=NO_VOCABULARY, declarations=declared)
    assert len(verdict.declared) == len(pin.findings)
    assert seal(clean, verdict).sha256 == pin.tree_sha256


def test_an_archive_that_cannot_be_had_fails_and_is_skipped_only_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "_KEPT", tmp_path / "kept")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(pytest.fail.Exception, match=WENT_UNCHECKED):
        release_archive(CLICK, {})
    with pytest.raises(pytest.fail.Exception):
        release_archive(CLICK, {WENT_UNCHECKED: "yes"})
    with pytest.raises(pytest.skip.Exception, match="went unchecked"):
        release_archive(CLICK, {WENT_UNCHECKED: "1"})


def test_an_archive_with_another_digest_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "_KEPT", tmp_path / "kept")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    (tmp_path / CLICK.file).write_bytes(b"another")
    with pytest.raises(pytest.fail.Exception):
        release_archive(CLICK, {archive.FOLDER: str(tmp_path)})
