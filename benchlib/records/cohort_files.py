"""A cohort's folder, read and checked against itself.

Every file that another one pins by digest is compared with its pin, every name
with what it names. All findings stand in one report.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from benchlib.contracts.challenge import Challenge
from benchlib.contracts.cohort import Cohort
from benchlib.contracts.fixture import Artifact, Fixture
from benchlib.contracts.plan import PinnedFile
from benchlib.contracts.policy import ScriptedPolicy
from benchlib.contracts.reading import read_file
from benchlib.contracts.tree import scan_tree, tree_sha256
from benchlib.errors import InputError, InWords
from benchlib.gateway import read_policy

_NamedT = TypeVar("_NamedT", Challenge, Fixture)


@dataclass(frozen=True)
class CohortFiles:
    """A cohort as its files say it, checked against itself but not against a lock."""

    root: Path
    cohort: Cohort
    challenges: dict[str, Challenge]
    fixtures: dict[str, Fixture]
    policy: ScriptedPolicy | None

    @property
    def workspaces(self) -> list[tuple[str, str]]:
        """The challenge and fixture of each workspace that a pair needs."""
        return sorted({(pair.challenge, pair.fixture) for pair in self.cohort.pairs})


def require_folder(root: Path) -> None:
    """Refuse a file where a cohort's folder was asked for.

    Raises:
        InputError: It is no folder; what is absent is told by whoever reads it.
    """
    if root.exists() and not root.is_dir():
        raise InputError(
            str(root),
            found=InWords("a file"),
            allowed="a cohort's folder, such as cohorts/demo/v1",
            next_step=f"name the folder, {root.parent}",
        )


def read_cohort(root: Path) -> CohortFiles:
    """Read a cohort's folder and check all that its files say of one another.

    Args:
        root: The folder that holds ``cohort.json``.

    Returns:
        The parsed files.

    Raises:
        InputError: A file is wrong, absent, or not the one that another file pins; every
            finding stands in one report.
    """
    require_folder(root)
    cohort = read_file(Cohort, root / "cohort.json")
    challenges = {
        name: _named(Challenge, root / "challenges" / f"{name}.json", name)
        for name in cohort.challenges
    }
    fixtures = {
        name: _named(Fixture, root / "fixtures" / f"{name}.json", name) for name in cohort.fixtures
    }
    policy = read_policy(root / cohort.model.policy) if cohort.model.kind == "scripted" else None
    files = CohortFiles(root, cohort, challenges, fixtures, policy)
    raise_all(list(_faults(files)))
    return files


def inputs_of(files: CohortFiles) -> tuple[PinnedFile, ...]:
    """List every file that a run of the cohort reads, by path, with its digest."""
    cohort = files.cohort
    paths = [files.root / "cohort.json"]
    paths += [files.root / "challenges" / f"{name}.json" for name in cohort.challenges]
    paths += [files.root / "fixtures" / f"{name}.json" for name in cohort.fixtures]
    for challenge in files.challenges.values():
        paths += _files_below(files.root / challenge.verifier.path)
        paths += _files_below(files.root / challenge.reference_solution.path)
    for fixture in files.fixtures.values():
        paths += [files.root / artifact.path for artifact in _artifacts(fixture)]
    if cohort.model.kind == "scripted":
        paths.append(files.root / cohort.model.policy)
    return tuple(_pinned(path, files.root) for path in sorted(set(paths)))


def _named(model: type[_NamedT], path: Path, name: str) -> _NamedT:
    contract = read_file(model, path)
    if contract.id != name:
        raise InputError(
            str(path),
            "id",
            found=contract.id,
            allowed=f"{name!r}, the name of its file",
            next_step="rename the file or correct the id",
        )
    return contract


def _faults(files: CohortFiles) -> Iterator[InputError]:
    for challenge in files.challenges.values():
        place = files.root / "challenges" / f"{challenge.id}.json"
        for field, path, pinned in (
            ("verifier.sha256", challenge.verifier.path, challenge.verifier.sha256),
            (
                "reference_solution.sha256",
                challenge.reference_solution.path,
                challenge.reference_solution.sha256,
            ),
        ):
            yield from _folder_fault(place, field, files.root / path, pinned)
    for fixture in files.fixtures.values():
        place = files.root / "fixtures" / f"{fixture.id}.json"
        for artifact in _artifacts(fixture):
            yield from _artifact_fault(place, files.root, artifact)
    yield from _condition_faults(files)
    if files.cohort.model.kind == "scripted":
        yield from _file_fault(
            files.root / "cohort.json",
            "model.policy_sha256",
            files.root / files.cohort.model.policy,
            files.cohort.model.policy_sha256,
        )


def _condition_faults(files: CohortFiles) -> Iterator[InputError]:
    """Each pair's fixture must hold the graph arms that its conditions restore."""
    for pair in files.cohort.pairs:
        known = {arm.id for arm in files.fixtures[pair.fixture].graph_arms}
        for name in (pair.control, pair.treatment):
            memory = files.cohort.condition(name).memory
            if memory is not None and memory.graph_arm not in known:
                yield InputError(
                    str(files.root / "cohort.json"),
                    f"pairs {pair.id}: condition {name}",
                    found=memory.graph_arm,
                    allowed=f"a graph arm of fixture {pair.fixture}: {', '.join(sorted(known))}",
                    next_step="name one of them, or add it to the fixture",
                )


def _folder_fault(place: Path, field: str, folder: Path, pinned: str) -> Iterator[InputError]:
    if not folder.is_dir():
        yield _absent(place, field, folder)
        return
    found = folder_sha256(folder)
    if found != pinned:
        yield _mismatch(place, field, found, pinned, folder)


def folder_sha256(folder: Path) -> str:
    """Return the tree digest of a cohort's folder; byte code left by Python is not counted."""
    return tree_sha256(
        entry for entry in scan_tree(folder) if "__pycache__" not in entry.path.split("/")
    )


def _artifact_fault(place: Path, root: Path, artifact: Artifact) -> Iterator[InputError]:
    yield from _file_fault(place, artifact.path, root / artifact.path, artifact.sha256)


def _file_fault(place: Path, field: str, path: Path, pinned: str) -> Iterator[InputError]:
    if not path.is_file():
        yield _absent(place, field, path)
        return
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != pinned:
        yield _mismatch(place, field, found, pinned, path)


def _absent(place: Path, field: str, path: Path) -> InputError:
    return InputError(
        str(place),
        field,
        found=InWords(f"no {path}"),
        allowed="a path below the cohort's folder that is there",
        next_step="add it, or correct the path",
    )


def _mismatch(place: Path, field: str, found: str, pinned: str, path: Path) -> InputError:
    return InputError(
        str(place),
        field,
        found=InWords(f"{pinned}, but {path.name} has {found}"),
        allowed="the digest of what lies there",
        next_step=f"restore {path}, or write {found}",
    )


def raise_all(errors: list[InputError]) -> None:
    """Raise the first error with all others in its report; do nothing when there is none."""
    if errors:
        first, *others = errors
        first.also = tuple(others)
        raise first


def _artifacts(fixture: Fixture) -> list[Artifact]:
    return [fixture.evidence_corpus, *(arm.graph for arm in fixture.graph_arms)]


def _files_below(folder: Path) -> list[Path]:
    return [
        path
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.relative_to(folder).parts
    ]


def _pinned(path: Path, root: Path) -> PinnedFile:
    data = path.read_bytes()
    return PinnedFile(
        path=path.relative_to(root).as_posix(),
        sha256=hashlib.sha256(data).hexdigest(),
        bytes=len(data),
    )
