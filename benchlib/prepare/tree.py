"""The tree of a pinned commit, from Git objects alone.

Rules:

1. Only objects are read: no work tree, index, ignored file, attribute filter, replace
   ref or configuration has a say, and nothing is fetched behind our back.
2. All that makes a tree unusable is reported at once: a missing object, an undeclared
   submodule or LFS pointer, a name that is not portable, a declaration that matches nothing.
3. The tree appears under its name whole, or not at all.

What may stay in the tree is `redact`'s and `certify`'s business.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchlib.contracts.fixture import ArchiveCorpus, Declarations, GitCorpus
from benchlib.contracts.tree import (
    LINK,
    DanglingLink,
    PreparedTree,
    TreeEntry,
    laid_permissions,
    scan_tree,
    tree_sha256,
)
from benchlib.errors import InputError, InWords, OutsideError
from benchlib.prepare._archive import import_archive
from benchlib.prepare._blobs import BlobStream, Refusal, TreeWriter
from benchlib.prepare._git import ObjectStore, object_store
from benchlib.prepare._links import follow, look_among
from benchlib.prepare._listing import Listed, list_commit
from benchlib.prepare._names import folders_of, name_faults

SUBMODULE = "160000"


@dataclass(frozen=True)
class BuiltTree:
    """A tree on disk, and where it came from."""

    receipt: PreparedTree  # the commit it began as, and what stands here now
    entries: tuple[TreeEntry, ...]  # in the order of their paths' bytes
    root: Path
    is_redacted: bool = False

    @property
    def sha256(self) -> str:
        """The digest of the tree as it is now."""
        return self.receipt.tree_sha256


def build_tree(
    corpus: GitCorpus | ArchiveCorpus,
    *,
    base: Path,
    destination: Path,
    declarations: Declarations,
) -> BuiltTree:
    """Build the tree of a pinned commit, or of a release archive imported as one.

    Args:
        corpus: Where the objects are, and what is pinned.
        base: The cohort's folder; a relative location starts there.
        destination: The folder to make; its parent is made if need be.
        declarations: Submodules that are left out and LFS pointers that are kept.

    Returns:
        The tree with its receipt.

    Raises:
        InputError: The corpus is not what is pinned, or can't be a tree; all reasons at once.
        OutsideError: Git, the network or the disk failed.
    """
    if destination.exists() or destination.is_symlink():
        raise InputError(
            str(destination),
            found=InWords("something of that name"),
            allowed="a new folder",
            next_step="name another destination, or remove the old tree",
        )
    with _opened(corpus, base) as (store, commit):
        return _from_objects(store, commit, corpus, destination, declarations)


@contextlib.contextmanager
def _opened(corpus: GitCorpus | ArchiveCorpus, base: Path) -> Iterator[tuple[ObjectStore, str]]:
    if isinstance(corpus, GitCorpus):
        with object_store(corpus.location, corpus.commit, base=base) as store:
            yield store, corpus.commit
    else:
        with tempfile.TemporaryDirectory(prefix="objects-") as scratch:
            yield import_archive(
                base / corpus.location, sha256=corpus.sha256, repository=Path(scratch) / "store.git"
            )


def _from_objects(
    store: ObjectStore,
    commit: str,
    corpus: GitCorpus | ArchiveCorpus,
    destination: Path,
    declarations: Declarations,
) -> BuiltTree:
    listing = list_commit(store, commit, corpus.location)
    wanted = [entry for entry in listing.entries if entry.mode != SUBMODULE]
    with _made_whole(destination) as scratch, BlobStream(store, wanted) as blobs:
        # Git unpacks the first blobs while the names are judged.
        refusals = [
            *_refused_names(listing.entries),
            *_refused_submodules(listing.entries, declarations),
        ]
        refused = {refusal.path for refusal in refusals}
        writer = TreeWriter(scratch, frozenset(declarations.lfs_pointers))
        writer.write(blobs, wanted, leave_out=refused)
        refusals += [*writer.refusals, *_unmatched(listing.entries, writer, declarations)]
        if refusals:
            raise _report(refusals, f"{corpus.location} at {commit}")
    entries = tuple(writer.entries)
    receipt = PreparedTree(
        commit=commit,
        git_tree=listing.git_tree,
        tree_sha256=tree_sha256(entries),
        entries=len(entries),
        size_bytes=sum(entry.size_bytes for entry in entries),
        submodules=tuple(e.path for e in listing.entries if e.mode == SUBMODULE),
        lfs_pointers=tuple(sorted(writer.lfs_pointers)),
        dangling_links=dangling_links(entries, writer.targets),
        archive_sha256=corpus.sha256 if isinstance(corpus, ArchiveCorpus) else None,
    )
    return BuiltTree(receipt, entries, destination)


@contextlib.contextmanager
def _made_whole(destination: Path) -> Iterator[Path]:
    """Give a scratch folder the destination's name once all is in it."""
    scratch: Path | None = None
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(dir=destination.parent, prefix=".making-"))
        scratch.chmod(0o755)
        yield scratch
        scratch.rename(destination)
    except OSError as error:
        raise OutsideError(
            str(destination),
            found=error.strerror or str(error),
            allowed="a folder with room that can be written",
            next_step="free space or choose another place",
        ) from error
    finally:
        if scratch is not None and scratch.exists():
            shutil.rmtree(scratch)


def _refused_names(entries: tuple[Listed, ...]) -> Iterator[Refusal]:
    for path, fault in name_faults([entry.path for entry in entries]):
        yield Refusal(
            path,
            fault,
            "names that mean the same file on every system",
            "rename it in the project, or pin a commit without it",
        )


def _refused_submodules(
    entries: tuple[Listed, ...], declarations: Declarations
) -> Iterator[Refusal]:
    for entry in entries:
        if entry.mode == SUBMODULE and entry.path not in declarations.submodules:
            yield Refusal(
                entry.path,
                f"a submodule at commit {entry.object_id}",
                "files and links; a submodule only if it is declared, and then it is left out",
                "add its path to declarations.submodules, or pin a commit without it",
            )


def _unmatched(
    entries: tuple[Listed, ...], writer: TreeWriter, declarations: Declarations
) -> Iterator[Refusal]:
    """A declaration that matches nothing was written for another commit."""
    submodules = {entry.path for entry in entries if entry.mode == SUBMODULE}
    for field, declared, there in (
        ("submodules", declarations.submodules, submodules),
        ("lfs_pointers", declarations.lfs_pointers, writer.lfs_pointers),
    ):
        for path in declared:
            if path not in there:
                yield Refusal(
                    path,
                    f"declared in declarations.{field}, and the commit holds no such thing",
                    "declarations that are needed",
                    f"remove it from declarations.{field}",
                )


def _report(refusals: list[Refusal], place: str) -> InputError:
    errors = [
        InputError(place, one.path, found=one.found, allowed=one.allowed, next_step=one.next_step)
        for one in sorted(refusals)
    ]
    errors[0].also = tuple(errors[1:])
    return errors[0]


def dangling_links(
    entries: tuple[TreeEntry, ...], targets: dict[str, str]
) -> tuple[DanglingLink, ...]:
    """Name the links whose target is not in the tree, loops and links out of it included."""
    if not targets:
        return ()
    files = {entry.path for entry in entries if entry.mode != LINK}
    look = look_among(targets, files, folders_of([entry.path for entry in entries]))
    return tuple(
        DanglingLink(path=path, target=target)
        for path, target in sorted(targets.items())
        if not follow(path, look).arrives
    )


def as_it_is_now(
    receipt: PreparedTree, entries: tuple[TreeEntry, ...], targets: dict[str, str]
) -> PreparedTree:
    """Return a receipt of the same commit over the entries that stand there now."""
    return receipt.model_copy(
        update={
            "tree_sha256": tree_sha256(entries),
            "entries": len(entries),
            "size_bytes": sum(entry.size_bytes for entry in entries),
            "dangling_links": dangling_links(entries, targets),
        }
    )


def link_targets(root: Path, entries: tuple[TreeEntry, ...]) -> dict[str, str]:
    """Read the targets of a tree's links, as stored."""
    return {
        entry.path: os.readlink(root / entry.path)  # noqa: PTH115 - Path would tidy it
        for entry in entries
        if entry.mode == LINK
    }


def tree_on_disk(root: Path, receipt: PreparedTree) -> BuiltTree:
    """Adopt a folder that something else wrote into, such as a prebuild, as a tree.

    A `.git` at the root is no part of a tree and goes; so do empty folders, which no tree
    can say. Modes become 644 and 755. Everything else must be a file or a link with a
    portable name.

    Args:
        root: The folder; it is changed only in the ways just named.
        receipt: Of the redacted tree that it began as.

    Returns:
        The tree as it now is.

    Raises:
        InputError: It holds something that can't stand in a tree; all of it at once.
    """
    shutil.rmtree(root / ".git", ignore_errors=True)
    found = sorted(scan_tree(root), key=lambda entry: entry.path.encode("utf-8", "surrogateescape"))
    kept = [entry for entry in found if entry.mode != "folder"]
    refusals = [
        Refusal(entry.path, f"a {entry.mode}", "files and links", "remove it in the prebuild")
        for entry in kept
        if not entry.mode.isdigit()
    ]
    refusals += [
        Refusal(path, fault, "portable names", "rename or remove it in the prebuild")
        for path, fault in name_faults([entry.path for entry in kept])
    ]
    if refusals:
        raise _report(refusals, str(root))
    for entry in found:
        if entry.mode == "folder":
            remove_empty_folders(root, entry.path)
    entries = tuple(_plain(root, entry) for entry in kept)
    receipt = as_it_is_now(receipt, entries, link_targets(root, entries))
    return BuiltTree(receipt, entries, root, is_redacted=True)


def _plain(root: Path, entry: TreeEntry) -> TreeEntry:
    if entry.mode == LINK:
        return entry
    permissions = laid_permissions(entry.mode)
    if entry.permissions != permissions:
        (root / entry.path).chmod(permissions)
    return entry._replace(permissions=permissions)


def remove_empty_folders(root: Path, folder: str) -> None:
    """Remove a folder and its parents below the root, as far as nothing is in them."""
    while folder:
        try:
            (root / folder).rmdir()
        except OSError:  # not empty: so are its parents
            return
        folder = folder.rpartition("/")[0]
