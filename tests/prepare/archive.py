"""Release archives of real projects, pinned by digest, fetched once and kept.

Looked for in the folder that `BENCHLIB_RELEASE_ARCHIVES` names, then among those fetched
before, then in the package registry through pip. An archive that can't be had fails the
test; who accepts that says so: `BENCHLIB_RELEASE_ARCHIVE_WENT_UNCHECKED=1` skips it.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchlib.contracts.fixture import DeclaredFinding

FOLDER = "BENCHLIB_RELEASE_ARCHIVES"
WENT_UNCHECKED = "BENCHLIB_RELEASE_ARCHIVE_WENT_UNCHECKED"
_KEPT = Path(tempfile.gettempdir()) / "benchlib-release-archives"


@dataclass(frozen=True)
class Pin:
    """One archive, and what is known about it."""

    requirement: str
    file: str
    sha256: str
    commit: str  # that the import gives on every machine
    tree_sha256: str
    entries: int
    findings: tuple[DeclaredFinding, ...] = ()


def _key(path: str, sha256: str) -> DeclaredFinding:
    why = "a key of the test suite's own certificate authority; it opens nothing"
    return DeclaredFinding(kind="suspicious-metadata", path=path, sha256=sha256, why=why)


_AUTHORITY = "9a36bafea981da2dcd9a218b7ce23c778acdbee0009c0720531dd4e4d0549548"

CLICK = Pin(
    requirement="click==8.1.8",
    file="click-8.1.8.tar.gz",
    sha256="ed53c9d8990d83c2a27deae68e4ee337473f6330c040a31d4225c9574d16096a",
    commit="65b4f9d27ce6b21c5ea0f33ed866b98739600019",
    tree_sha256="bcd968cde974b7d31740f5952b9234e8e85093bed9b98226c4b16f68c675b78d",
    entries=94,
)
"""Pure Python without dependencies: `PYTHONPATH=src` runs it in any image with Python 3."""

REQUESTS = Pin(
    requirement="requests==2.32.5",
    file="requests-2.32.5.tar.gz",
    sha256="dbba0bac56e100853db0ea71b82b4dfd5fe2bf6d3754a8893c3af500cec7d7cf",
    commit="ddd05ad52ee18629049e92649571db6c53e0dc4b",
    tree_sha256="31776ce3b61ecbecd42005ca122ccb35c6789bc497f0f0e4b235347d6a5ed159",
    entries=84,
    findings=(
        _key("tests/certs/expired/ca/ca-private.key", _AUTHORITY),
        _key("tests/certs/mtls/client/ca/ca-private.key", _AUTHORITY),
        _key("tests/certs/valid/ca/ca-private.key", _AUTHORITY),
        _key(
            "tests/certs/expired/server/server.key",
            "acce64eae44a4073909c97e5929a1a319c947f4f37e4b933c1dcd805e59c8516",
        ),
        _key(
            "tests/certs/mtls/client/client.key",
            "98ed2a33896438a77175ee8ecebe0a8bf57d39c24a18ba4ebf87d9bc8abf6711",
        ),
        _key(
            "tests/certs/valid/server/server.key",
            "5457b89bc1af7de6829d78c9baa639ddea79b4e9dffe7933166c12836f9345c2",
        ),
    ),
)
"""Its test suite carries private keys: six findings that are declared one by one."""


def release_archive(pin: Pin, environment: Mapping[str, str] = os.environ) -> Path:
    """Return the archive's path, its digest checked.

    Fails the test when it can't be had, and skips it only where the operator said so.
    """
    folders = [Path(environment[FOLDER])] if environment.get(FOLDER) else []
    for folder in (*folders, _KEPT):
        if _is_pinned(folder / pin.file, pin):
            return folder / pin.file
    said = _fetch(pin)
    if _is_pinned(_KEPT / pin.file, pin):
        return _KEPT / pin.file
    if environment.get(WENT_UNCHECKED) == "1":
        pytest.skip(f"{pin.file} went unchecked: {WENT_UNCHECKED}=1")
    pytest.fail(
        f"{pin.file} can't be had: {said}\n"
        f"put it into a folder and name that in {FOLDER}, or set {WENT_UNCHECKED}=1"
    )


def _is_pinned(path: Path, pin: Pin) -> bool:
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == pin.sha256


def _fetch(pin: Pin) -> str:
    """Have pip fetch it; it appears under its name whole. Returns what pip said."""
    _KEPT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=_KEPT) as scratch:
        options = ["--no-deps", "--no-binary", ":all:", "--disable-pip-version-check", "-q"]
        argv = [sys.executable, "-m", "pip", "download", *options, "-d", scratch, pin.requirement]
        done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=600)
        if (Path(scratch) / pin.file).is_file():
            (Path(scratch) / pin.file).rename(_KEPT / pin.file)
    return done.stderr.strip()[-500:]
