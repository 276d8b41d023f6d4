"""Archives become Git objects, alike on every machine; hostile ones become nothing."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchlib.contracts.fixture import ArchiveCorpus, Declarations
from benchlib.errors import DriftError, InputError
from benchlib.prepare import BuiltTree, build_tree
from benchlib.prepare._archive import ArchiveLimits, import_archive

FILES: dict[str, bytes] = {"README.md": b"# Desk\n", "src/app.py": b"WIDTH = 62\n", "run.sh": b"#!"}


def _tar(members: list[tuple[tarfile.TarInfo, bytes]], packed: Callable[[bytes], bytes]) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for member, content in members:
            tar.addfile(member, io.BytesIO(content))
    return packed(raw.getvalue())


def member(name: str, content: bytes = b"x", **fields: object) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    info.mtime = 1_700_000_000
    for field, value in fields.items():
        setattr(info, field, value)
    if info.type != tarfile.REGTYPE:
        info.size, content = 0, b""
    return info, content


def link(name: str, target: str) -> tuple[tarfile.TarInfo, bytes]:
    return member(name, type=tarfile.SYMTYPE, linkname=target)


def zipped(files: dict[str, bytes], modes: dict[str, int] | None = None) -> bytes:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = (modes or {}).get(name, stat.S_IFREG | 0o644) << 16
            archive.writestr(info, content)
    return raw.getvalue()


def plain(raw: bytes) -> bytes:
    return raw


def imported(
    folder: Path, raw: bytes, name: str = "desk.tar", declarations: Declarations | None = None
) -> BuiltTree:
    (folder / name).write_bytes(raw)
    return build_tree(
        ArchiveCorpus(kind="archive", location=name, sha256=hashlib.sha256(raw).hexdigest()),
        base=folder,
        destination=folder / f"tree-of-{name}",
        declarations=declarations or Declarations(),
    )


def _desk(top: str = "desk-1.0/", **fields: object) -> list[tuple[tarfile.TarInfo, bytes]]:
    modes = {"run.sh": 0o755}
    return [member(top + name, content, mode=modes.get(name, 0o644), **fields)
            for name, content in FILES.items()]  # fmt: skip


PACKERS = {"tar": plain, "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


@pytest.mark.parametrize("ending", [*PACKERS, "zip"])
def test_every_format_gives_the_same_tree(ending: str, tmp_path: Path) -> None:
    if ending == "zip":
        modes = {"desk-1.0/run.sh": stat.S_IFREG | 0o755}
        raw = zipped({f"desk-1.0/{name}": content for name, content in FILES.items()}, modes)
    else:
        raw = _tar(_desk(), PACKERS[ending])
    built = imported(tmp_path, raw, "release.bin")  # the name says nothing
    other = imported(tmp_path, _tar(_desk(), plain), "other")
    assert built.entries == other.entries
    assert built.receipt.git_tree == other.receipt.git_tree
    assert (built.root / "src/app.py").read_bytes() == FILES["src/app.py"]
    modes_found = {entry.path: entry.mode for entry in built.entries}
    assert modes_found == {"README.md": "100644", "run.sh": "100755", "src/app.py": "100644"}


def test_one_archive_gives_one_commit_whenever_it_is_imported(tmp_path: Path) -> None:
    raw = _tar(_desk(), gzip.compress)
    trees = []
    for number in range(2):
        folder = tmp_path / str(number)
        folder.mkdir()
        trees.append(imported(folder, raw))
    assert trees[0].receipt == trees[1].receipt
    assert trees[0].receipt.archive_sha256 == hashlib.sha256(raw).hexdigest()


def test_order_times_and_owners_of_members_do_not_reach_the_tree(tmp_path: Path) -> None:
    one = imported(tmp_path, _tar(_desk(), plain), "one.tar")
    shuffled = _desk(mtime=5, uname="somebody", uid=77)[::-1]
    other = imported(tmp_path, _tar(shuffled, plain), "other.tar")
    assert one.receipt.git_tree == other.receipt.git_tree


def test_only_a_single_top_folder_is_stripped(tmp_path: Path) -> None:
    two = imported(tmp_path, _tar([member("a/x"), member("b/y")], plain), "two.tar")
    assert [entry.path for entry in two.entries] == ["a/x", "b/y"]
    file = imported(tmp_path, _tar([member("a/x"), member("z")], plain), "file.tar")
    assert [entry.path for entry in file.entries] == ["a/x", "z"]
    dotted = imported(tmp_path, _tar([member("./a/x"), member("./a//y")], plain), "dotted.tar")
    assert [entry.path for entry in dotted.entries] == ["x", "y"]


def test_links_stay_links_and_hard_links_become_files(tmp_path: Path) -> None:
    members = [*_desk(), link("desk-1.0/link", "src/app.py"), link("desk-1.0/src/up", "../run.sh"),
               member("desk-1.0/hard", type=tarfile.LNKTYPE, linkname="desk-1.0/run.sh"),
               link("desk-1.0/gone", "nowhere")]  # fmt: skip
    built = imported(tmp_path, _tar(members, plain))
    modes = {entry.path: entry.mode for entry in built.entries}
    assert modes["link"] == modes["src/up"] == modes["gone"] == "120000"
    assert modes["hard"] == "100755"
    assert (built.root / "hard").read_bytes() == FILES["run.sh"]
    assert [one.path for one in built.receipt.dangling_links] == ["gone"]


def test_a_link_in_a_zip_stays_a_link(tmp_path: Path) -> None:
    raw = zipped({"a": b"x", "b": b"a"}, {"b": stat.S_IFLNK | 0o777})
    assert [entry.mode for entry in imported(tmp_path, raw).entries] == ["100644", "120000"]


def test_an_odd_name_arrives_as_it_is(tmp_path: Path) -> None:
    names = ['quoted"name.txt', "日本.txt", "with space", "-rf", "tab"]
    raw = _tar([member(f"d/{name}", name.encode()) for name in names if '"' not in name], plain)
    built = imported(tmp_path, raw)
    assert {entry.path for entry in built.entries} == {*names} - {'quoted"name.txt'}
    for name in names[1:]:
        assert (built.root / name).read_text() == name


def test_names_that_are_not_portable_are_refused_as_in_any_commit(tmp_path: Path) -> None:
    members = [member('d/quo"te'), member("d/a\\b"), member("d/new\nline"), member("d/aux.c")]
    with pytest.raises(InputError) as refused:
        imported(tmp_path, _tar(members, plain))
    fields = [one.field for one in (refused.value, *refused.value.also)]
    assert fields == ["a\\b", "aux.c", "new\\nline", 'quo"te']


def test_another_archive_than_the_pinned_one_is_drift(tmp_path: Path) -> None:
    (tmp_path / "a.tar").write_bytes(_tar(_desk(), plain))
    corpus = ArchiveCorpus(kind="archive", location="a.tar", sha256="0" * 64)
    with pytest.raises(DriftError) as drifted:
        build_tree(corpus, base=tmp_path, destination=tmp_path / "t", declarations=Declarations())
    assert drifted.value.allowed == "0" * 64
    assert not (tmp_path / "t").exists()


def test_an_absent_archive_is_an_error(tmp_path: Path) -> None:
    corpus = ArchiveCorpus(kind="archive", location="a.tar", sha256="0" * 64)
    with pytest.raises(InputError) as refused:
        build_tree(corpus, base=tmp_path, destination=tmp_path / "t", declarations=Declarations())
    assert refused.value.place.endswith("a.tar")


HOSTILE = {
    "parent": ([member("../x")], "../x", "'..'"),
    "parent inside": ([member("a/../../x")], "a/../../x", "'..'"),
    "absolute": ([member("/etc/passwd")], "/etc/passwd", "an absolute path"),
    "git data": ([member("d/.git/config")], "d/.git/config", "a .git component"),
    "git data in capitals": ([member("d/.GIT/hooks/x")], "d/.GIT/hooks/x", "a .git component"),
    "twice": ([member("a"), member("a")], "a", "stands twice"),
    "twice in another spelling": ([member("d/a"), member("d//a")], "d//a", "stands twice"),
    "file and folder": ([member("d/a"), member("d/a/b")], "a", "a folder"),
    "link and folder": ([link("d/a", "."), member("d/a/b")], "a", "a folder"),
    "link out": ([member("d/x"), link("d/a", "../../x")], "a", "a link out of the tree"),
    "absolute link": ([member("d/x"), link("d/a", "/etc/passwd")], "a", "a link out of the tree"),
    "link out through a link": (
        [member("d/x/y/z"), link("d/a", "x/l/../.."), link("d/x/l", "..")],
        "a",
        "a link out of the tree",
    ),
    "empty link": ([member("d/x"), link("d/a", "")], "a", "a link out of the tree"),
    "hard link out": (
        [member("d/x"), member("d/a", type=tarfile.LNKTYPE, linkname="/etc/passwd")],
        "d/a",
        "a hard link",
    ),
    "hard link to nothing": (
        [member("d/x"), member("d/a", type=tarfile.LNKTYPE, linkname="d/later")],
        "d/a",
        "a hard link",
    ),
    "device": ([member("d/x"), member("d/a", type=tarfile.CHRTYPE)], "d/a", "a device"),
    "block device": ([member("d/x"), member("d/a", type=tarfile.BLKTYPE)], "d/a", "a device"),
    "pipe": ([member("d/x"), member("d/a", type=tarfile.FIFOTYPE)], "d/a", "a FIFO"),
    "nothing": ([member("d", type=tarfile.DIRTYPE)], "", "no file at all"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_archive_is_refused_and_leaves_nothing(case: str, tmp_path: Path) -> None:
    members, name, found = HOSTILE[case]
    with pytest.raises(InputError) as refused:
        imported(tmp_path, _tar(members, gzip.compress), "hostile.tar.gz")
    assert refused.value.place == "hostile.tar.gz"
    assert refused.value.field == name
    assert found in refused.value.found
    assert [path.name for path in tmp_path.iterdir()] == ["hostile.tar.gz"]


def test_all_that_is_wrong_with_an_archive_comes_in_one_report(tmp_path: Path) -> None:
    members = [member("d/x"), member("/abs"), member("d/../y"), link("d/a", "/etc")]
    with pytest.raises(InputError) as refused:
        imported(tmp_path, _tar(members, plain))
    fields = [one.field for one in (refused.value, *refused.value.also)]
    assert fields == ["/abs", "d/../y", "a"]  # the last is judged in the tree, its top stripped


@pytest.mark.parametrize(
    ("limits", "found"),
    [
        (ArchiveLimits(members=2), "more than 2 members"),
        (ArchiveLimits(file_bytes=10), "a member of"),
        (ArchiveLimits(total_bytes=15), "bytes so far"),
        (ArchiveLimits(free_bytes=5, ratio=0), "bytes so far"),
    ],
)
def test_an_archive_that_unpacks_to_too_much_is_refused(
    limits: ArchiveLimits, found: str, tmp_path: Path
) -> None:
    for name, raw in (("a.tar.gz", _tar(_desk(), gzip.compress)),
                      ("a.zip", zipped({f"d/{k}": v for k, v in FILES.items()}))):  # fmt: skip
        (tmp_path / name).write_bytes(raw)
        digest = hashlib.sha256(raw).hexdigest()
        repository = tmp_path / f"{name}.git"
        with pytest.raises(InputError) as refused:
            import_archive(tmp_path / name, sha256=digest, repository=repository, limits=limits)
        assert found in refused.value.found


def test_a_bomb_is_refused_by_what_it_declares_before_it_is_unpacked(tmp_path: Path) -> None:
    raw = io.BytesIO()
    with (
        zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("d/zeros", "w") as zeros,
    ):
        for _ in range(300):
            zeros.write(bytes(1 << 20))
    assert len(raw.getvalue()) < 1 << 20
    with pytest.raises(InputError, match="bomb"):
        imported(tmp_path, raw.getvalue(), "bomb.zip")


def test_a_header_that_claims_gigabytes_is_refused(tmp_path: Path) -> None:
    """A pax header is read into memory whole; its size is whatever the archive says."""
    raw = io.BytesIO()
    info = tarfile.TarInfo("pax")
    info.type, info.size = tarfile.XHDTYPE, 1 << 33
    raw.write(info.tobuf(tarfile.GNU_FORMAT))
    raw.write(bytes(10_240))
    with pytest.raises(InputError) as refused:
        imported(tmp_path, gzip.compress(raw.getvalue()), "header.tar.gz")
    assert "header" in refused.value.found


@pytest.mark.parametrize(
    "spoil",
    [
        lambda raw: raw[: len(raw) // 2],
        lambda raw: raw[:-9] + b"\0" * 9,
        lambda _raw: b"\x1f\x8b" + b"garbage" * 10,
        lambda _raw: b"",
        lambda _raw: b"no archive at all" * 100,
        lambda _raw: b"PK\x03\x04" + b"\0" * 100,
    ],
)
def test_an_archive_that_is_cut_or_spoilt_is_refused(
    spoil: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    big = [member(f"d/{number}", bytes([number]) * 5_000) for number in range(50)]
    with pytest.raises(InputError):
        imported(tmp_path, spoil(_tar(big, gzip.compress)), "a.tar.gz")
    assert [path.name for path in tmp_path.iterdir()] == ["a.tar.gz"]


def test_an_encrypted_member_is_refused(tmp_path: Path) -> None:
    raw = bytearray(zipped({"d/a": b"x" * 20, "d/b": b"y"}))
    central = raw.index(b"PK\x01\x02")
    raw[6] |= 1
    raw[central + 8] |= 1
    with pytest.raises(InputError) as refused:
        imported(tmp_path, bytes(raw), "a.zip")
    assert "encrypted" in refused.value.found


_NAMES = st.lists(
    st.sampled_from(["a", "b", "c.txt", "..", ".", "", "A", ".git"]), min_size=1, max_size=3
)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40
)
@given(
    names=st.lists(_NAMES.map("/".join), min_size=1, max_size=4),
    targets=st.lists(_NAMES.map("/".join), max_size=2),
)
def test_no_archive_writes_outside_its_tree(
    names: list[str], targets: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Either it is refused, or all of it is below the one new folder."""
    folder = tmp_path_factory.mktemp("any")
    members = [member(name) for name in names if name]
    members += [link(f"top/link{number}", target) for number, target in enumerate(targets)]
    try:
        built = imported(folder, _tar(members, plain))
    except InputError:
        assert [path.name for path in folder.iterdir()] == ["desk.tar"]
        return
    assert {path.name for path in folder.iterdir()} == {"desk.tar", built.root.name}
    for entry in built.entries:
        location = built.root / entry.path
        if entry.mode != "120000":
            assert location.resolve().is_relative_to(built.root.resolve())
