"""What an image adds around a workspace, exported so that certification can read it.

Home, parents, and copies of projects that are installed or cached: none of it comes
from the corpus, and an agent sees all of it.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from docker.models.containers import Container

from benchlib.errors import InWords, OutsideError
from benchlib.sandbox._archive import archived_entries
from benchlib.sandbox._places import HOME

PACKAGE_FOLDERS = ("site-packages", "dist-packages", "node_modules")
CACHE_FOLDERS = (".cache", ".npm", ".cargo", ".m2", ".gradle")


def export_surfaces(container: Container, destination: Path) -> Mapping[str, Path]:
    """Export what stands around the workspace.

    Args:
        container: Of the base image, running, with nothing of an agent in it.
        destination: A new folder.

    Returns:
        Name to folder: `home`, `parents`, `packages` and `caches`. Below the last three
        each file has its whole path in the image.

    Raises:
        OutsideError: The image holds no `find`, or the engine failed.
    """
    surfaces = {"parents": _parents(container)}
    for name, folders in (("packages", PACKAGE_FOLDERS), ("caches", CACHE_FOLDERS)):
        surfaces[name] = _found(container, _named(folders))
    for name, paths in surfaces.items():
        (destination / name).mkdir(parents=True)
        for path in paths:
            _export(container, path, destination / name)
    _export(container, HOME, destination / "home")
    return {
        **{name: destination / name for name in surfaces},
        "home": destination / "home" / HOME[1:],
    }


def _parents(container: Container) -> list[str]:
    """Files directly in the parents, and hidden folders, where programs look for settings."""
    depth = "-mindepth 1 -maxdepth 1"
    return _found(container, rf"/ /home {depth} \( ! -type d -o -name '.*' \) -print0")


def _named(folders: tuple[str, ...]) -> str:
    wanted = " -o ".join(f"-name {shlex.quote(name)}" for name in folders)
    pruned = " -o ".join(f"-path {place}" for place in ("/proc", "/sys", "/dev", HOME))
    return rf"/ -xdev \( {pruned} \) -prune -o -type d \( {wanted} \) -prune -print0"


def _found(container: Container, arguments: str) -> list[str]:
    status, output = container.exec_run(["sh", "-c", f"find {arguments}"], stderr=False, user="0")
    if status != 0 or not isinstance(output, bytes):
        raise OutsideError(
            "docker",
            "what stands around the workspace",
            found=InWords(f"`find` ended with status {status} in the image"),
            allowed="a base image with sh and find",
            next_step="add findutils to the base image",
        )
    return [name.decode(errors="surrogateescape") for name in output.split(b"\0") if name]


def _export(container: Container, path: str, destination: Path) -> None:
    """Lay one file or folder of the image below a folder, under its whole path."""
    chunks, status = container.get_archive(path)
    target = destination / path.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    if status and status["linkTarget"]:
        target.symlink_to(status["linkTarget"])
        return
    archived_entries(chunks, path.rpartition("/")[2], copy_to=target)
