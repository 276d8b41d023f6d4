"""Writing whole or not at all: on a full disk, in a crash, and beside other writers."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchlib.contracts.files import sync_folder, write_atomically
from benchlib.errors import OutsideError

ROOT = Path(__file__).resolve().parents[2]


def left_in(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def program(source: str, *arguments: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", source, *map(str, arguments)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_a_file_is_written_with_its_folders_and_readable_for_all(tmp_path: Path) -> None:
    path = tmp_path / "a/b/receipt.json"
    write_atomically(path, b"{}")
    assert path.read_bytes() == b"{}"
    assert path.stat().st_mode & 0o777 == 0o644
    assert left_in(path.parent) == ["receipt.json"]


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "receipt.json"
    write_atomically(path, b"a long first content")
    write_atomically(path, b"short")
    assert path.read_bytes() == b"short"
    assert left_in(tmp_path) == ["receipt.json"]


def test_a_link_is_replaced_and_what_it_led_to_is_not(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(b"mine")
    (tmp_path / "receipt.json").symlink_to("elsewhere")
    write_atomically(tmp_path / "receipt.json", b"new")
    assert (tmp_path / "elsewhere").read_bytes() == b"mine"
    assert not (tmp_path / "receipt.json").is_symlink()


LIMITED = """
import resource, signal, sys
from pathlib import Path
from benchlib.contracts.files import write_atomically
from benchlib.errors import OutsideError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # the write then fails as on a full disk
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_atomically(Path(sys.argv[1]), b"x" * 5000)
except OutsideError as error:
    print(error.found)
    sys.exit(error.exit_status)
"""


@pytest.mark.parametrize("old", [None, b"old"])
def test_a_write_that_finds_no_room_leaves_the_old_file_or_none(
    old: bytes | None, tmp_path: Path
) -> None:
    path = tmp_path / "receipt.json"
    if old is not None:
        path.write_bytes(old)
    writer = program(LIMITED, path)
    said, complained = writer.communicate(timeout=60)
    assert (writer.returncode, said) == (3, b"File too large\n"), complained
    assert left_in(tmp_path) == (["receipt.json"] if old else [])
    assert not old or path.read_bytes() == old


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own with room for 64 KiB, made in a mount namespace of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    holder = subprocess.Popen(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
         'mount -t tmpfs -o size=64k none "$0" && echo ready && read _', str(folder)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert holder.stdout is not None
    if holder.stdout.readline() != b"ready\n":
        pytest.fail(f"no mount namespace: {holder.communicate()[1].decode()}")
    yield Path(f"/proc/{holder.pid}/root{folder}")
    holder.communicate(b"\n")


def test_a_full_disk_is_an_outside_error_and_leaves_the_old_file(full_disk: Path) -> None:
    path = full_disk / "receipts/receipt.json"
    write_atomically(path, b"old")
    with pytest.raises(OutsideError) as caught:
        write_atomically(path, b"x" * 200_000)
    assert caught.value.found == "No space left on device"
    assert caught.value.place == str(path)
    assert path.read_bytes() == b"old"
    assert left_in(path.parent) == ["receipt.json"]


def test_what_can_not_be_a_file_is_an_outside_error_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"")
    for path in (tmp_path / "folder", tmp_path / "file/below", tmp_path / ("x" * 300)):
        with pytest.raises(OutsideError):
            write_atomically(path, b"{}")
    assert left_in(tmp_path) == ["file", "folder"]


WRITES_FOR_EVER = """
import sys
from pathlib import Path
from benchlib.contracts.files import write_atomically
path, letter = Path(sys.argv[1]), sys.argv[2].encode()
print("ready", flush=True)
while True:
    write_atomically(path, letter * 300_000)
"""


def test_a_killed_writer_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "receipt.json"
    path.write_bytes(b"o" * 10)
    for round_number in range(6):
        writer = program(WRITES_FOR_EVER, path, "n")
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
        time.sleep(0.003 * round_number)  # another moment of the write each time
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
        assert path.read_bytes() in {b"o" * 10, b"n" * 300_000}
    others = [name for name in left_in(tmp_path) if name != "receipt.json"]
    assert all(name.startswith(".writing-") for name in others)


def test_readers_beside_many_writers_see_whole_files_only(tmp_path: Path) -> None:
    path = tmp_path / "receipt.json"
    contents = {
        letter: letter.encode() * (1 + number) * 50_000 for number, letter in enumerate("abcd")
    }
    write_atomically(path, contents["a"])
    writers = [
        threading.Thread(target=lambda data=data: [write_atomically(path, data) for _ in range(15)])
        for data in contents.values()
    ]
    for writer in writers:
        writer.start()
    seen = set()
    while any(writer.is_alive() for writer in writers):
        seen.add(path.read_bytes())
    assert seen <= set(contents.values())
    assert left_in(tmp_path) == ["receipt.json"]


def test_a_folder_that_is_not_there_can_not_be_made_durable(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        sync_folder(tmp_path / "absent")
    before = len(left_in(Path("/proc/self/fd")))
    sync_folder(tmp_path)
    assert len(left_in(Path("/proc/self/fd"))) == before
