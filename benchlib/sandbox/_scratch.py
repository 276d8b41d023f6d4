"""A sandbox's own scratch folder, which goes when the sandbox goes, or is found by its label."""

from __future__ import annotations

import contextlib
import tempfile
import weakref
from pathlib import Path

from benchlib.sandbox._files import remove_tree
from benchlib.sandbox._places import scratch_name


class Scratch:
    """Fresh folders for one sandbox.

    Args:
        label: Of the run.
        root: Where scratch folders lie; None for the system's temporary folder.
    """

    def __init__(self, label: str, root: Path | None) -> None:
        self.family = (root or Path(tempfile.gettempdir())).resolve() / scratch_name(label)
        self._folder: Path | None = None

    @property
    def folder(self) -> Path:
        """This sandbox's folder, made when it is first needed."""
        if self._folder is None:
            self.family.mkdir(mode=0o755, parents=True, exist_ok=True)
            self._folder = Path(tempfile.mkdtemp(dir=self.family, prefix=""))
            weakref.finalize(self, _remove, self._folder)
        return self._folder

    def new(self) -> Path:
        """Make a fresh folder, for us alone."""
        return Path(tempfile.mkdtemp(dir=self.folder, prefix=""))

    def remove_leftovers(self) -> tuple[str, ...]:
        """Remove what other sandboxes of the same label left; returns the names of what went."""
        if not self.family.is_dir():
            return ()
        found = [one for one in sorted(self.family.iterdir()) if one != self._folder]
        for one in found:
            remove_tree(one)
        return tuple(one.name for one in found)


def _remove(folder: Path) -> None:
    remove_tree(folder)
    with contextlib.suppress(OSError):  # another sandbox of the same label uses it
        folder.parent.rmdir()
