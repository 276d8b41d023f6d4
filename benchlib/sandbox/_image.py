"""A sealed workspace as an image whose identity is known before the engine is asked.

The image is the base plus one layer, a canonical tar: sorted names, one time, fixed
owners and permissions. Its id is the SHA-256 of a configuration written here, so it is
the same on every machine with the same base, and both arms start from it. The engine
is sent the new layer alone; where that does not work, the base's layers as well.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO

from docker import DockerClient
from docker.errors import APIError, ImageNotFound
from docker.models.images import Image

from benchlib.contracts.boundaries import SealedWorkspace
from benchlib.contracts.tree import LINK, TreeEntry, laid_permissions
from benchlib.errors import DriftError, InWords, OutsideError
from benchlib.sandbox._layout import refuse_unlayable
from benchlib.sandbox._places import (
    AGENT,
    CONFIGURATION_FOLDERS,
    FIXED_TIME,
    HOME,
    USER_ID,
    WORKSPACE,
    arm_environment,
)
from benchlib.sandbox._repository import write_repository

TREE_LABEL = "benchlib.tree"
IMAGE_TAG = "benchlib/tree"
IDLE_COMMAND = ("sleep", "infinity")

_CREATED = "2020-01-01T00:00:00Z"
_CHUNK = 1024 * 1024


@dataclass(frozen=True)
class Layer:
    """A layer on disk, before the engine has it."""

    path: Path
    sha256: str


def write_layer(sealed: SealedWorkspace, folder: Path) -> Layer:
    """Write the layer of a workspace, its repository and a fresh home.

    Args:
        sealed: The workspace.
        folder: A scratch folder for the layer and, meanwhile, the repository.

    Returns:
        The layer. Equal trees give equal bytes.

    Raises:
        InputError: The tree holds what can't be laid: a special file, a `.git`.
        DriftError: A file is not the one that was sealed.
    """
    refuse_unlayable(sealed)
    repository = folder / "repository"
    write_repository(repository, sealed.root, sealed.entries)
    path = folder / "layer.tar"
    with path.open("wb") as file:
        sink = _Hashing(file)
        for member, location in _members(sealed, repository):
            _append(sink, member, location)
        sink.write(b"\0" * tarfile.RECORDSIZE)
    shutil.rmtree(repository)
    return Layer(path, sink.digest.hexdigest())


class _Hashing:
    """A file that is digested as it is written."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.digest = hashlib.sha256()

    def write(self, content: bytes) -> None:
        self.digest.update(content)
        self._file.write(content)


def _members(
    sealed: SealedWorkspace, repository: Path
) -> Iterator[tuple[tarfile.TarInfo, Path | None]]:
    """Yield what stands in the layer, parents first, in one fixed order."""
    homes = {"", *(f"/{part}" for part in _with_parents(CONFIGURATION_FOLDERS.values()))}
    for name in sorted(homes):
        yield _folder(HOME[1:] + name, USER_ID), None
    yield _folder(AGENT[1:], 0), None
    yield _folder(WORKSPACE[1:], USER_ID), None
    yield from _repository_members(repository)
    known: set[str] = set()
    for entry in sorted(sealed.entries, key=lambda entry: os.fsencode(entry.path)):
        for parent in _missing_parents(entry.path, known):
            yield _folder(f"{WORKSPACE[1:]}/{parent}", USER_ID), None
        if entry.mode == "folder":
            known.add(entry.path)
            yield _folder(f"{WORKSPACE[1:]}/{entry.path}", USER_ID), None
        else:
            yield _entry_member(sealed.root, entry)


def _with_parents(paths: Iterable[str]) -> set[str]:
    return {
        "/".join(path.split("/")[:depth])
        for path in paths
        for depth in range(1, path.count("/") + 2)
    }


def _missing_parents(path: str, known: set[str]) -> list[str]:
    missing = []
    parent = path.rpartition("/")[0]
    while parent and parent not in known:
        known.add(parent)
        missing.append(parent)
        parent = parent.rpartition("/")[0]
    return missing[::-1]


def _repository_members(repository: Path) -> Iterator[tuple[tarfile.TarInfo, Path | None]]:
    top = f"{WORKSPACE[1:]}/.git"
    yield _folder(top, USER_ID), None
    for location in sorted(repository.rglob("*")):
        name = f"{top}/{location.relative_to(repository).as_posix()}"
        if location.is_dir():
            yield _folder(name, USER_ID), None
            continue
        member = _member(name, USER_ID, 0o644)
        member.size = location.stat().st_size
        # Newer than the files it lists, else Git would read them again to be sure.
        member.mtime = FIXED_TIME + 1
        yield member, location


def _entry_member(root: Path, entry: TreeEntry) -> tuple[tarfile.TarInfo, Path | None]:
    member = _member(f"{WORKSPACE[1:]}/{entry.path}", USER_ID, laid_permissions(entry.mode))
    if entry.mode == LINK:
        member.type = tarfile.SYMTYPE
        member.linkname = os.readlink(root / entry.path)  # noqa: PTH115 - a Path would tidy it
        return member, None
    member.size = entry.size_bytes
    return member, root / entry.path


def _folder(name: str, owner: int) -> tarfile.TarInfo:
    member = _member(name, owner, 0o755)
    member.type = tarfile.DIRTYPE
    return member


def _member(name: str, owner: int, permissions: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.mtime, member.mode = FIXED_TIME, permissions
    member.uid = member.gid = owner
    return member


def _append(sink: _Hashing, member: tarfile.TarInfo, location: Path | None) -> None:
    sink.write(member.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape"))
    if location is None:
        return
    left = member.size
    with location.open("rb") as file:
        while chunk := file.read(min(left, _CHUNK)):
            sink.write(chunk)
            left -= len(chunk)
        if left or file.read(1):
            raise DriftError(
                str(location),
                found=InWords("a file whose size moved while it was read"),
                allowed=f"{member.size} bytes, as sealed",
                next_step="prepare the workspace again; nobody may write into a sealed one",
            )
    sink.write(b"\0" * (-member.size % tarfile.BLOCKSIZE))


@dataclass(frozen=True)
class ImagePlan:
    """An image's configuration, whose SHA-256 is the image's id."""

    configuration: bytes
    base_layers: tuple[str, ...]
    tree_sha256: str

    @property
    def id(self) -> str:
        """The id that the engine must give it."""
        return "sha256:" + hashlib.sha256(self.configuration).hexdigest()

    @property
    def tag(self) -> str:
        """A tag, so that the engine's own clean-up does not take it for forgotten."""
        return f"{IMAGE_TAG}:{self.tree_sha256[:32]}"


def plan_image(base: Image, layer: Layer, tree_sha256: str) -> ImagePlan:
    """Write the configuration of base plus layer."""
    layers = tuple(base.attrs["RootFS"]["Layers"])
    path = image_path(base)
    configuration = {
        "architecture": base.attrs["Architecture"],
        "config": {
            "Cmd": list(IDLE_COMMAND),
            "Env": [f"{name}={value}" for name, value in arm_environment(HOME, path).items()],
            "Labels": {TREE_LABEL: tree_sha256},
            "User": f"{USER_ID}:{USER_ID}",
            "WorkingDir": WORKSPACE,
        },
        "created": _CREATED,
        "history": [{"created": _CREATED, "created_by": "layer"} for _ in range(len(layers) + 1)],
        "os": base.attrs["Os"],
        "rootfs": {"diff_ids": [*layers, f"sha256:{layer.sha256}"], "type": "layers"},
    }
    text = json.dumps(configuration, sort_keys=True, separators=(",", ":"))
    return ImagePlan(text.encode(), layers, tree_sha256)


def image_path(base: Image) -> str:
    """Return the PATH that an image sets, or the usual one."""
    variables = dict(one.split("=", 1) for one in base.attrs["Config"].get("Env") or [])
    return str(variables.get("PATH", "/usr/local/bin:/usr/bin:/bin"))


def ensure_image(client: DockerClient, base: Image, plan: ImagePlan, layer: Layer) -> None:
    """Load an image unless the engine has it, and prove that it is the planned one.

    Raises:
        OutsideError: The engine refused it, or gave it another id.
    """
    if _has(client, plan.id):
        return
    reason = _try_load(client, _archive(plan, layer, base_layers={}))
    if not _has(client, plan.id):
        reason = load_with_base(client, base, plan, layer) or reason
    if not _has(client, plan.id):
        raise OutsideError(
            "docker",
            "image id",
            found=reason or "the image was loaded under another id",
            allowed=f"{plan.id}, the SHA-256 of its configuration",
            next_step="use an engine with the classic image store (overlay2), or --sandbox local",
        )


def load_with_base(client: DockerClient, base: Image, plan: ImagePlan, layer: Layer) -> str | None:
    """Send the base's layers too, for an engine that insists on having all of them."""
    with tempfile.TemporaryFile() as saved:
        for chunk in base.save(chunk_size=_CHUNK):
            saved.write(chunk)
        saved.seek(0)
        with tarfile.open(fileobj=saved) as archive:
            names = _saved_layers(archive)
            members = dict(zip(plan.base_layers, map(archive.getmember, names), strict=True))
            places = {
                layer_id: (saved, _resolved(archive, member))
                for layer_id, member in members.items()
            }
            return _try_load(client, _archive(plan, layer, base_layers=places))


def _saved_layers(archive: tarfile.TarFile) -> list[str]:
    manifest = archive.extractfile("manifest.json")
    if manifest is None:
        raise OutsideError(
            "docker",
            "image save",
            found=InWords("an archive whose manifest is no file"),
            allowed="a docker-archive",
            next_step="use an engine of release 20.10 or later",
        )
    return [str(name) for name in json.load(manifest)[0]["Layers"]]


def _resolved(archive: tarfile.TarFile, member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Follow the link by which a saved archive shares one layer among images."""
    if not member.issym():
        return member
    folder = os.path.dirname(member.name)  # noqa: PTH120 - a name in an archive, not a path
    return archive.getmember(os.path.normpath(os.path.join(folder, member.linkname)))  # noqa: PTH118 - as above


def _try_load(client: DockerClient, archive: Iterator[bytes]) -> str | None:
    """Send an archive; returns what the engine objected to."""
    try:
        for line in client.api.load_image(archive):  # type: ignore[no-untyped-call]  # of the stubs
            if isinstance(line, dict) and "error" in line:
                return str(line["error"])
    except APIError as error:
        return str(error.explanation or error)
    return None


def _has(client: DockerClient, image_id: str) -> bool:
    try:
        found = client.images.get(image_id)
    except ImageNotFound:
        return False
    return bool(found.id == image_id)


def _archive(
    plan: ImagePlan,
    layer: Layer,
    *,
    base_layers: Mapping[str, tuple[IO[bytes], tarfile.TarInfo]],
) -> Iterator[bytes]:
    """Yield a docker-archive; base layers that are not given are only named.

    An engine that has them never opens their files.
    """
    identity = plan.id.removeprefix("sha256:")
    names = [f"{layer_id.removeprefix('sha256:')}.tar" for layer_id in plan.base_layers]
    manifest = [
        {"Config": f"{identity}.json", "RepoTags": [plan.tag], "Layers": [*names, "layer.tar"]}
    ]
    yield from _bytes_member("manifest.json", json.dumps(manifest).encode())
    yield from _bytes_member(f"{identity}.json", plan.configuration)
    for layer_id, (file, member) in base_layers.items():
        yield from _file_member(
            f"{layer_id.removeprefix('sha256:')}.tar", file, member.offset_data, member.size
        )
    with layer.path.open("rb") as file:
        yield from _file_member("layer.tar", file, 0, layer.path.stat().st_size)
    yield b"\0" * tarfile.RECORDSIZE


def _bytes_member(name: str, content: bytes) -> Iterator[bytes]:
    return _file_member(name, io.BytesIO(content), 0, len(content))


def _file_member(name: str, file: IO[bytes], start: int, size: int) -> Iterator[bytes]:
    member = _member(name, 0, 0o644)
    member.size = size
    yield member.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")
    file.seek(start)
    left = size
    while chunk := file.read(min(left, _CHUNK)):
        left -= len(chunk)
        yield chunk
    yield b"\0" * (-size % tarfile.BLOCKSIZE)
