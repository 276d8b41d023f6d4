"""Builds small frozen cohorts for tests: a real repository, verifier, memory and lock."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from benchlib.analysis import read_plan
from benchlib.contracts.attempt import ArmName, ArmReceipt
from benchlib.contracts.boundaries import Sandbox
from benchlib.contracts.pair import PairReceipt
from benchlib.contracts.plan import OpenPlan
from benchlib.prepare import auto_loaded_paths
from benchlib.records import folder_sha256, freeze, open_plan
from benchlib.run import ReceiptFolder, RunSummary
from benchlib.sandbox.docker import DockerSandbox
from benchlib.sandbox.local import LocalSandbox

ROOT = Path(__file__).resolve().parent.parent

NOTES = [
    {"id": "n-1", "kind": "note", "title": "Width", "body": "The carrier cuts labels at 58 mm."},
    {"id": "n-2", "kind": "note", "title": "Queue", "body": "Drain the returns queue first."},
]

VERIFIER = """\
import json, pathlib, sys
workspace, verdict = map(pathlib.Path, sys.argv[1:3])
answer = workspace / "answer.txt"
passed = answer.is_file() and answer.read_text().strip() == "58"
verdict.write_text(json.dumps({"passed": passed, "reason": "58" if passed else "not 58"}))
sys.exit(0 if passed else 1)
"""


@dataclass
class CohortSpec:
    """What a test wants to be otherwise than usual."""

    agent: Sequence[str] = ("sh", "-c", "echo 58 > answer.txt")
    files: Mapping[str, str] = field(
        default_factory=lambda: {"app.py": "WIDTH = 40\n", "CLAUDE.md": "Labels are 58 wide.\n"}
    )
    outputs: Sequence[str] = ("answer.txt",)
    verifier: str = VERIFIER
    runtime: Sequence[str] = ("python3", "-I", "-S", "verify.py")
    solution: Mapping[str, str] = field(default_factory=lambda: {"answer.txt": "58\n"})
    self_check: Sequence[str] = ()
    pairs: int = 1
    agent_timeout_seconds: int = 30
    verifier_timeout_seconds: int = 30
    provisioner: Sequence[str] = ("{python}", "-m", "benchlib.memory.reference")
    serve: Sequence[str] = ("{python}", "-m", "benchlib.memory.reference", "serve")
    rules: Mapping[str, object] = field(default_factory=dict)
    prebuild: Sequence[str] = ()
    environment: Mapping[str, object] = field(default_factory=dict)
    corpus: Mapping[str, object] | None = None
    declarations: Mapping[str, object] = field(default_factory=dict)
    graph_nodes: Sequence[str] = ("n-1", "n-2")


def sandbox_named(name: str, label: str, scratch: Path | None = None) -> Sandbox:
    if name == "docker":
        return DockerSandbox(label)
    return LocalSandbox(label, scratch_root=scratch, auto_loaded=auto_loaded_paths, isolation=name)


class Ran:
    """A small cohort that was run, and its receipts."""

    def __init__(self, folder: ReceiptFolder, summary: RunSummary, lines: list[str]) -> None:
        self.folder = folder
        self.summary = summary
        self.lines = lines

    def pair(self, pair: str = "p1", attempt: str = "a1") -> PairReceipt:
        receipt = self.folder.read_pair(pair, attempt)
        assert receipt is not None
        return receipt

    def arm(self, arm: ArmName, pair: str = "p1", attempt: str = "a1") -> ArmReceipt:
        receipt = self.folder.read_arm(pair, attempt, arm)
        assert receipt is not None
        return receipt


class RunSpec(Protocol):
    """Runs a small cohort in a sandbox and gives its receipts."""

    def __call__(
        self, spec: CohortSpec, sandbox: str = "namespace", *, scratch: Path | None = None
    ) -> Ran: ...


def write_cohort(root: Path, spec: CohortSpec) -> Path:
    """Write the files of a cohort, not its lock; returns its folder."""
    root.mkdir(parents=True, exist_ok=True)
    commit = commit_files(root / "corpus" / "repository", spec.files)
    _write_folder(root / "verifiers" / "width", {"verify.py": spec.verifier})
    _write_folder(root / "solutions" / "width", spec.solution)
    memory = {
        "evidence.jsonl": "".join(json.dumps(note) + "\n" for note in NOTES),
        "graph.json": json.dumps(
            {
                "schema": "reference-1",
                "nodes": list(spec.graph_nodes),
                "edges": [["n-1", "near", "n-2"]],
            }
        ),
    }
    _write_folder(root / "memory", memory)
    _write_json(root / "challenges" / "label-width.json", _challenge(root, spec))
    _write_json(root / "fixtures" / "parcel-desk.json", _fixture(root, spec, commit))
    _write_json(root / "cohort.json", _cohort(spec))
    return root


def frozen(root: Path, spec: CohortSpec, sandbox: Sandbox) -> OpenPlan:
    """Write and freeze a cohort, and open it."""
    write_cohort(root, spec)
    freeze(root, repository=ROOT, sandbox=sandbox, overwrite=True, progress=lambda _: None)
    return open_plan(root)


def commit_files(repository: Path, files: Mapping[str, str]) -> str:
    """Commit files into a new repository with a fixed date; returns the commit."""
    _write_folder(repository, files)
    stamp = "2026-01-01T00:00:00Z"
    environment = {
        "PATH": "/usr/bin:/bin",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        **{
            f"GIT_{who}_{what}": value
            for who in ("AUTHOR", "COMMITTER")
            for what, value in (("NAME", "n"), ("EMAIL", "n@example.invalid"), ("DATE", stamp))
        },
    }
    for argv in (
        ["init", "-q", "-b", "main"],
        ["add", "-A"],
        ["commit", "-q", "-m", "Start"],
    ):
        subprocess.run(["git", "-C", str(repository), *argv], check=True, env=environment)
    head = ["git", "-C", str(repository), "rev-parse", "HEAD"]
    return subprocess.run(head, check=True, capture_output=True, text=True).stdout.strip()


def _challenge(root: Path, spec: CohortSpec) -> dict[str, object]:
    environment = {
        "network": "none",
        "milli_cpus": 1000,
        "memory_mb": 512,
        "max_processes": 64,
        "prebuild": list(spec.prebuild),
        **spec.environment,
    }
    return {
        "schema_version": 1,
        "id": "label-width",
        "kind": "coding",
        "prompt": "How wide may a label be? Write the number of millimetres into answer.txt.",
        "allowed_outputs": list(spec.outputs),
        "agent_timeout_seconds": spec.agent_timeout_seconds,
        "environment": environment,
        "verifier": {
            "path": "verifiers/width",
            "sha256": folder_sha256(root / "verifiers/width"),
            "runtime": list(spec.runtime),
            "timeout_seconds": spec.verifier_timeout_seconds,
        },
        "reference_solution": {
            "path": "solutions/width",
            "sha256": folder_sha256(root / "solutions/width"),
            "self_check": list(spec.self_check),
        },
        "answer_phrases": ["the answer is 58"],
        "use_evidence": ["58"],
    }


def _fixture(root: Path, spec: CohortSpec, commit: str) -> dict[str, object]:
    corpus = {"kind": "git", "location": "corpus/repository", "commit": commit}
    return {
        "schema_version": 1,
        "id": "parcel-desk",
        "corpus": dict(spec.corpus or corpus),
        "declarations": dict(spec.declarations),
        "evidence_corpus": _artifact(root, "memory/evidence.jsonl"),
        "graph_arms": [
            {
                "id": "full",
                "graph": _artifact(root, "memory/graph.json"),
                "least_items": len(spec.graph_nodes),
                "probes_answer": bool(spec.graph_nodes),
            }
        ],
        "probes": [
            {
                "name": "width",
                "kind": "fulltext",
                "query": "labels",
                "expected_id": "n-1",
                "within_rank": 1,
                "is_required": True,
            }
        ],
        "delivery_phrases": [{"item": "n-1", "text": "The carrier cuts labels at 58 mm."}],
    }


def _cohort(spec: CohortSpec) -> dict[str, object]:
    rules = {"allowed_isolation": ["container", "namespace", "none"], **spec.rules}
    return {
        "schema_version": 1,
        "id": "small-cohort",
        "version": 1,
        "title": "A small cohort",
        "question": "Does it run?",
        "challenges": ["label-width"],
        "fixtures": ["parcel-desk"],
        "conditions": [
            {"id": "plain", "memory": None},
            {"id": "recall", "memory": {"graph_arm": "full", "channels": ["tool-pull"]}},
        ],
        "agent": {"adapter": "command", "argv": list(spec.agent)},
        "model": {"kind": "none", "name": "none"},
        "provisioner": {
            "name": "reference",
            "build": "test",
            "argv": list(spec.provisioner),
            "serve": list(spec.serve),
            "embedding": "lexical",
        },
        "rules": rules,
        "analysis": {
            "notebook": "notebooks/plans/primary.ipynb",
            "plan_sha256": read_plan(ROOT / "notebooks/plans/primary.ipynb").plan_sha256,
            "alpha_ppm": 50000,
            "endpoints": [
                {
                    "id": "solved",
                    "hypothesis": "Memory changes whether the label's width is found.",
                    "challenges": ["label-width"],
                    "lines": "per-challenge",
                    "family": "conditional",
                }
            ],
        },
        "pairs": [
            {
                "id": f"p{number}",
                "challenge": "label-width",
                "fixture": "parcel-desk",
                "control": "plain",
                "treatment": "recall",
                "seed": number,
            }
            for number in range(1, spec.pairs + 1)
        ],
    }


def _artifact(root: Path, path: str) -> dict[str, object]:
    data = (root / path).read_bytes()
    return {"path": path, "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}


def _write_folder(folder: Path, files: Mapping[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _write_json(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")


__all__ = [
    "ROOT",
    "CohortSpec",
    "Ran",
    "RunSpec",
    "commit_files",
    "frozen",
    "sandbox_named",
    "write_cohort",
]
