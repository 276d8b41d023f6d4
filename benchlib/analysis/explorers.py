"""Explore notebooks keep their outputs; this makes them anew without what differs by itself.

``python -m benchlib.analysis.explorers NOTEBOOK…`` runs each in place, in its own
folder, and leaves no time, path, version or random id in it, so that a change in Git is a change
in what is shown. nbval then holds each notebook against a run of its own.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import papermill

from benchlib.contracts.files import write_atomically
from benchlib.errors import InWords, OutsideError


def refresh(path: Path) -> None:
    """Run an explore notebook in place.

    Args:
        path: The notebook; its cells see the folder that it lies in.

    Raises:
        OutsideError: A cell failed, or it can't be written; the old one is left.
    """
    with tempfile.TemporaryDirectory(prefix="bl-") as scratch:
        try:
            made = papermill.execute_notebook(
                str(path),
                str(Path(scratch) / "run.ipynb"),
                cwd=str(path.parent),
                kernel_name="python3",
                progress_bar=False,
            )
        except papermill.PapermillExecutionError as error:
            raise OutsideError(
                f"{path}: cell {error.cell_index + 1}",
                found=InWords(f"{error.ename}: {error.evalue}"),
                allowed="a cell that ends without an exception",
                next_step="correct the cell, or run the cohort that it shows first",
            ) from error
    write_atomically(path, cleaned(json.loads(json.dumps(made))))


def cleaned(document: dict[str, object]) -> bytes:
    """Return a notebook's bytes without what differs between two runs.

    Args:
        document: The executed notebook.

    Returns:
        Keys sorted, ids counted, tags and outputs kept, ended by LF.
    """
    cells = document["cells"]
    kept = [_cell(cell, number) for number, cell in enumerate(_objects(cells), start=1)]
    metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    whole = {"cells": kept, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    text = json.dumps(whole, indent=1, sort_keys=True, ensure_ascii=False)
    return text.encode() + b"\n"


def _objects(cells: object) -> list[dict[str, object]]:
    return [cell for cell in cells if isinstance(cell, dict)] if isinstance(cells, list) else []


def _cell(cell: dict[str, object], number: int) -> dict[str, object]:
    metadata = cell.get("metadata")
    tags = metadata.get("tags") if isinstance(metadata, dict) else None
    own = {name: cell[name] for name in ("cell_type", "source", "outputs") if name in cell}
    counted = {"execution_count": cell["execution_count"]} if "execution_count" in cell else {}
    return own | counted | {"id": f"cell-{number:02d}", "metadata": {"tags": tags} if tags else {}}


if __name__ == "__main__":
    for name in sys.argv[1:]:
        refresh(Path(name))
