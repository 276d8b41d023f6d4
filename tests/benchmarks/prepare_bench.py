"""A tree from Git objects, and its certification, against the plain tools; medians of one run.

The tree is made of this Python's own standard library, each file several times with a line
of its own. It stands in memory (`/dev/shm`) where there is such a place, so that the disk
of the day is not what is measured. Ours and the referee take turns.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from prepare.corpora import clean_surfaces, git

from benchlib.contracts.fixture import Declarations, GitCorpus
from benchlib.prepare import BuiltTree, PlanId, Vocabulary, build_tree, certify
from benchlib.prepare._rules import awareness_rules, leak_rules, text_rules
from benchlib.prepare.patterns import EVERYWHERE, KIT_NAME, TEXT_RULES

FILES = 5400
LARGEST_BYTES = 40_000  # of one file: a tree of source, not of data
RUNS = 7
VOCABULARY = Vocabulary((PlanId("challenge", "widen-rack-3"),), ("every 256th job",))

_PEAK = """
import json, sys
from pathlib import Path
from benchlib.contracts.fixture import Declarations
from benchlib.contracts.tree import PreparedTree
from benchlib.prepare import BuiltTree, PlanId, Surfaces, Vocabulary, certify
told = json.loads(sys.argv[1])
receipt = PreparedTree(commit="0" * 40, git_tree="0" * 40, tree_sha256="0" * 64, entries=0,
                       size_bytes=0, submodules=(), lfs_pointers=(), dangling_links=())
verdict = certify(
    Surfaces(source=BuiltTree(receipt, (), Path(told["root"])), evidence=Path(told["evidence"]),
             graphs={"a": Path(told["graph"])}, challenge={"prompt": "x"}, kit_names=("x",),
             image={"home": Path(told["home"])}),
    vocabulary=Vocabulary((PlanId("challenge", "widen-rack-3"),), ("every 256th job",)),
    declarations=Declarations(),
)
# Not `ru_maxrss`: a child begins with its parent's.
status = Path("/proc/self/status").read_text().splitlines()
print(next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM")))
"""


def rows() -> list[tuple[str, object, str, object, object, str]]:
    """Return the measurements of this file: what, ours, referee, its figure, ratio, target."""
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="bench-", dir=place) as folder:
        root = Path(folder)
        commit = _make_repository(root / "repository", FILES)
        built = _build(root, commit, root / "tree")
        table = _tree_rows(root, commit)
        table += _certify_rows(root, built)
        shutil.rmtree(root / "tree")
        table.append(_memory_row(root, commit))
    return table


def _make_repository(root: Path, files: int) -> str:
    root.mkdir()
    source = Path(sysconfig.get_paths()["stdlib"])
    modules = [
        path
        for path in sorted(source.rglob("*.py"))
        if path.stat().st_size <= LARGEST_BYTES and "site-packages" not in path.parts
    ]
    for number in range(files):
        path = modules[number % len(modules)]
        copy = root / f"part{number // len(modules)}" / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes() + f"# {number}\n".encode())
    git("init", "-q", "-b", "main", ".", cwd=root)
    git("add", "-A", "-f", ".", cwd=root)
    git("commit", "-q", "-m", "start", cwd=root)
    git("gc", "-q", cwd=root)
    return git("rev-parse", "HEAD", cwd=root)


def _build(root: Path, commit: str, destination: Path) -> BuiltTree:
    return build_tree(
        GitCorpus(kind="git", location="repository", commit=commit),
        base=root,
        destination=destination,
        declarations=Declarations(),
    )


def _in_turns(
    ours: Callable[[], object], referee: Callable[[], object], after: Callable[[], object]
) -> tuple[float, float]:
    """Return the medians of both, taken in turns; what is cleared up between is not counted."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(RUNS):
        for taken, call in zip(times, (ours, referee), strict=True):
            started = time.perf_counter()
            call()
            taken.append(time.perf_counter() - started)
            after()
    return statistics.median(times[0]), statistics.median(times[1])


def _tree_rows(root: Path, commit: str) -> list[tuple[str, object, str, object, object, str]]:
    destination = root / "again"
    unpack = 'git -C "$0" archive "$1" | tar -x -C "$2"'
    digest = 'find "$2" -type f -print0 | xargs -0 sha256sum > "$2.sums"'
    table: list[tuple[str, object, str, object, object, str]] = []
    for name, line in (
        ("git archive | tar -x: no digests", unpack),
        ("git archive | tar -x, then sha256sum: the same work", f"{unpack}; {digest}"),
    ):
        argv = ["sh", "-c", line, str(root / "repository"), commit, str(destination)]

        def referee(argv: list[str] = argv) -> None:
            destination.mkdir()
            subprocess.run(argv, check=True)

        ours, theirs = _in_turns(
            lambda: _build(root, commit, destination), referee, lambda: shutil.rmtree(destination)
        )
        what = f"tree from Git objects, {FILES} files, digests included, s"
        table.append((what, ours, name, theirs, ours / theirs, "1.0x"))
    return table


def _certify_rows(
    root: Path, built: BuiltTree
) -> list[tuple[str, object, str, object, object, str]]:
    surfaces = clean_surfaces(root / "surfaces", built)
    literals, expressions = root / "literals", root / "expressions"
    literals.write_text("".join(f"{one}\n" for one in _literals() if "\n" not in one))
    expressions.write_text("".join(f"{one}\n" for one in _expressions()))
    common = ["rg", "-uuu", "-a", "-c"]
    table: list[tuple[str, object, str, object, object, str]] = []
    for name, options, target in (
        ("rg, the same patterns", ["-U", "-f", str(expressions)], "2x"),
        ("rg, their literals only: less than the job", ["-i", "-F", "-f", str(literals)], "-"),
    ):
        argv = [*common, *options, str(built.root)]
        ours, theirs = _in_turns(
            lambda: certify(surfaces, vocabulary=VOCABULARY, declarations=Declarations()),
            lambda argv=argv: _search(argv),
            lambda: None,
        )
        what = f"certification, {FILES} files, tree digest included, s"
        table.append((what, ours, name, theirs, ours / theirs, target))
    return table


def _literals() -> list[str]:
    rules = [*awareness_rules(VOCABULARY), *leak_rules(VOCABULARY), *text_rules()]
    return sorted({literal.decode() for rule in rules for literal in rule.literals})


def _expressions() -> list[str]:
    """Return what certification looks for in texts, as ripgrep writes it: some span lines."""
    between = r"(?: |-|_|\r?\n|  )"
    terms = [between.join(re.split(r"[ _]", term.words)) for term in EVERYWHERE]
    words = "|".join([KIT_NAME, *terms, *(re.escape(one.id) for one in VOCABULARY.ids)])
    phrases = [r"\s+".join(one.split()) for one in VOCABULARY.answer_phrases]
    rows = [row.expression for row in TEXT_RULES if not row.only_in]
    return [rf"(?i)\b(?:{words})s?\b", *(rf"(?i)\b{one}\b" for one in phrases), *rows]


def _search(argv: list[str]) -> None:
    """Run ripgrep; 1 says that nothing was found, more that it could not look."""
    done = subprocess.run(argv, check=False, stdout=subprocess.DEVNULL)
    if done.returncode > 1:
        raise subprocess.CalledProcessError(done.returncode, argv)


def _peak_mb(root: Path, built: BuiltTree) -> float:
    surfaces = clean_surfaces(root / "surfaces", built)
    told = {
        "root": str(built.root),
        "evidence": str(surfaces.evidence),
        "graph": str(surfaces.graphs["populated"]),
        "home": str(surfaces.image["home"]),
    }
    argv = [sys.executable, "-c", _PEAK, json.dumps(told)]
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    return float(done.stdout)


def _memory_row(root: Path, commit: str) -> tuple[str, object, str, object, object, str]:
    small = _peak_mb(root, _build(root, commit, root / "tree"))
    shutil.rmtree(root / "repository")
    commit = _make_repository(root / "repository", 4 * FILES)
    large = _peak_mb(root, _build(root, commit, root / "large"))
    what = f"certification's peak memory, {4 * FILES} files, MB"
    return (what, large, f"the same, {FILES} files", small, large / small, "does not grow")


if __name__ == "__main__":
    for row in rows():
        print(*(f"{cell:.3f}" if isinstance(cell, float) else cell for cell in row), sep=" | ")  # noqa: T201
