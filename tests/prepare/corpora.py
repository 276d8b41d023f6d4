"""What the tests of this part share: bundles, small repositories, a clean set of surfaces."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchlib.contracts.fixture import Declarations, GitCorpus
from benchlib.prepare import BuiltTree, Surfaces, Vocabulary, build_tree

CASES = Path(__file__).resolve().parent.parent / "cases"
BUNDLES = CASES / "corpora"
NAMES = tuple(sorted(path.stem for path in BUNDLES.glob("*.bundle")))

NO_VOCABULARY = Vocabulary((), ())


@dataclass(frozen=True)
class Expected:
    """The right outcome of one bundle."""

    name: str
    commit: str
    raw: Mapping[str, object]

    def paths(self, field: str) -> set[str]:
        entries = self.raw.get(field, [])
        assert isinstance(entries, list)
        return {one["path"] if isinstance(one, dict) else one for one in entries}

    @property
    def flags(self) -> set[tuple[str, str]]:
        """Path and kind of each finding after redaction; one that redaction settles is left out."""
        entries = self.raw.get("flag", [])
        assert isinstance(entries, list)
        return {(one["path"], one["kind"]) for one in entries if "when" not in one}

    @property
    def declarations(self) -> Declarations:
        """Declares what the bundle would be refused for, as far as that can be declared."""
        refused = self.paths("refuse")
        return Declarations(
            submodules=tuple(path for path in refused if self.name == "submodule-and-links"),
            lfs_pointers=tuple(path for path in refused if self.name == "attributes"),
        )


def expected(name: str) -> Expected:
    # The plain module: a name that is not UTF-8 stands in these files with a surrogate escape.
    raw = json.loads((BUNDLES / f"{name}.expect.json").read_text("utf-8"))
    return Expected(name, raw["commit"], raw)


def build_bundle(
    name: str, destination: Path, declarations: Declarations | None = None
) -> BuiltTree:
    one = expected(name)
    return build_tree(
        GitCorpus(kind="git", location=f"{name}.bundle", commit=one.commit),
        base=BUNDLES,
        destination=destination,
        declarations=one.declarations if declarations is None else declarations,
    )


def git(*arguments: str, cwd: Path, stdin: bytes | None = None) -> str:
    """Run real Git as a person would, and return what it said."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {
        "GIT_AUTHOR_NAME": "n", "GIT_AUTHOR_EMAIL": "n@example.invalid",
        "GIT_COMMITTER_NAME": "n", "GIT_COMMITTER_EMAIL": "n@example.invalid",
        "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1",
    }  # fmt: skip
    done = subprocess.run(
        ["git", "-c", "gc.auto=0", *arguments],
        cwd=cwd,
        input=stdin,
        env=environment,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
    return done.stdout.decode("utf-8", "surrogateescape").strip()


def repository_with(
    root: Path, files: Mapping[str, str | bytes], links: Mapping[str, str] | None = None
) -> str:
    """Make a repository with one commit of these files; returns the commit."""
    root.mkdir(parents=True)
    git("init", "-q", "-b", "main", ".", cwd=root)
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content.encode() if isinstance(content, str) else content)
    for path, target in (links or {}).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).symlink_to(target)
    git("add", "-A", "-f", ".", cwd=root)
    git("commit", "-q", "-m", "start", cwd=root)
    return git("rev-parse", "HEAD", cwd=root)


def tree_of(
    folder: Path,
    files: Mapping[str, str | bytes],
    links: Mapping[str, str] | None = None,
    declarations: Declarations | None = None,
) -> BuiltTree:
    """Build a tree of these files through a real repository."""
    commit = repository_with(folder / "repository", files, links)
    return build_tree(
        GitCorpus(kind="git", location="repository", commit=commit),
        base=folder,
        destination=folder / "tree",
        declarations=declarations or Declarations(),
    )


def clean_surfaces(folder: Path, source: BuiltTree | None) -> Surfaces:
    """Every surface, with nothing in it that an agent must not see."""
    folder.mkdir(parents=True, exist_ok=True)
    evidence = folder / "notes.jsonl"
    evidence.write_text(
        '{"id": "n-1", "text": "Labels are 62 mm wide since the new printer came."}\n'
        '{"id": "n-2", "text": "Ask the warehouse before you change the queue."}\n'
    )
    graph = folder / "notes.json"
    graph.write_text(
        json.dumps(
            {
                "nodes": [{"id": "n-1", "kind": "fact", "title": "Widths", "body": "62 mm"}],
                "edges": [{"src": "n-1", "rel": "about", "dst": "n-1"}],
            },
            indent=1,
        )
    )
    home = folder / "home"
    home.mkdir(exist_ok=True)
    return Surfaces(
        source=source,
        evidence=evidence,
        graphs={"populated": graph},
        challenge={"prompt": "Make the label wider.", "allowed_outputs": "src\nnotes.txt"},
        kit_names=("parcel-shop", "trunk", "/workspace", "r-5d41402abc4b2a76b971"),
        image={"home": home},
    )


def disk_of(root: Path) -> dict[str, tuple[int, bytes]]:
    """Everything about a folder that a writer could change: type and mode, content, time."""
    found = {}
    for path in sorted(root.rglob("*")):
        status = path.lstat()
        content = target_of(path) if path.is_symlink() else b""
        if path.is_file() and not path.is_symlink():
            content = path.read_bytes()
        found[path.relative_to(root).as_posix()] = (
            status.st_mode, content + f" {status.st_mtime_ns}".encode()
        )  # fmt: skip
    return found


def target_of(link: Path) -> bytes:
    """A link's target as it is stored; a Path would tidy it."""
    return os.fsencode(os.readlink(link))  # noqa: PTH115 - as said
