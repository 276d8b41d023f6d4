"""What the apparatus costs: an arm under Docker, a full audit, and the audit of a large tree.

Needs a Docker engine and the base image. Ours and the referee take turns in one run, and
the median of each is shown. The referee of an arm is what nobody can do without: the raw
calls of the SDK that make, start, end and remove the same two containers.
"""

from __future__ import annotations

import io
import os
import random
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import docker

from benchlib.contracts.boundaries import FinishedTree, SealedWorkspace
from benchlib.contracts.challenge import Environment
from benchlib.contracts.tree import scan_tree, tree_sha256
from benchlib.run import audit
from benchlib.sandbox import DockerSandbox
from benchlib.sandbox._files import scan_finished

ENVIRONMENT = Environment(network="none", milli_cpus=1000, memory_mb=256, max_processes=64)
AGENT = {"task.json": b"{}"}
BASE = "benchlib/base:bookworm"
VERIFIER = "import sys; sys.exit(1)"
ARM_FILES, SCAN_FILES, LARGE_FILES = 300, 5000, 50_000
ROUNDS = 9


def rows() -> list[tuple[str, float, str, float, float, str]]:
    """Return the measurements of this file."""
    folder = Path(tempfile.mkdtemp(prefix="bench-"))
    try:
        return [_arm(folder / "arm"), _scan(folder / "scan"), _large(folder / "large")]
    finally:
        shutil.rmtree(folder)


def _in_turns(*acts: Callable[[], object]) -> list[float]:
    """Return the median time of each; one round before the first is not counted."""
    times: list[list[float]] = [[] for _ in acts]
    for number in range(ROUNDS + 1):
        for act, taken in zip(acts, times, strict=True):
            started = time.perf_counter()
            act()
            if number:
                taken.append(time.perf_counter() - started)
    return [statistics.median(taken) for taken in times]


def _sealed(root: Path, files: int) -> SealedWorkspace:
    """Write a tree as source trees are: half the files below 4 kB, some 20 to a folder."""
    source = random.Random(files)
    for number in range(files):
        folder = root / f"p{number % (files // 50)}" / f"m{number % 3}"
        folder.mkdir(parents=True, exist_ok=True)
        size = int(source.lognormvariate(8, 1.2))
        (folder / f"f{number}.py").write_bytes(source.randbytes(size))
    entries = tuple(sorted(scan_tree(root), key=lambda entry: os.fsencode(entry.path)))
    return SealedWorkspace(root, entries, tree_sha256(entries), "0" * 64)


def _arm(folder: Path) -> tuple[str, float, str, float, float, str]:
    sealed = _sealed(folder / "tree", ARM_FILES)
    (folder / "verifier").mkdir()
    (folder / "verifier" / "verify.py").write_text(VERIFIER)
    sandbox = DockerSandbox("bench")
    image = sandbox.load(sealed)
    client = docker.from_env()
    try:
        whole, raw = _in_turns(
            lambda: _whole_arm(sandbox, sealed, folder), lambda: _raw_calls(client, image)
        )
    finally:
        client.images.remove(image, force=True)
        client.close()
    beyond = whole - raw
    what = "apparatus per arm under Docker beyond the raw calls, audit included, s"
    return what, beyond, "raw SDK calls", raw, beyond / raw, "0.5 s"


def _whole_arm(sandbox: DockerSandbox, sealed: SealedWorkspace, folder: Path) -> None:
    arm = sandbox.open_arm(sealed, ENVIRONMENT, agent_files=AGENT, door=None)
    copy = Path(tempfile.mkdtemp(dir=folder)) / "copy"
    try:
        arm.run(("true",), environment={}, timeout_seconds=60, output_limit_bytes=1000)
        audit(sealed, arm.finished(), ())
        arm.copy_workspace(copy)
    finally:
        arm.close()
    runtime = ("python3", "-I", "-S", "verify.py")
    sandbox.judge(copy, folder / "verifier", runtime=runtime, timeout_seconds=60)


def _raw_calls(client: docker.DockerClient, image: str) -> None:
    fence = {
        "init": True,
        "network_mode": "none",
        "mem_limit": "256m",
        "memswap_limit": "256m",
        "pids_limit": 64,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges"],
        "user": "1000:1000",
        "tmpfs": {"/tmp": "mode=1777"},
    }
    arm = client.containers.create(image, ["sleep", "infinity"], nano_cpus=10**9, **fence)
    arm.put_archive("/opt", _archive("agent/task.json", b"{}"))
    arm.start()
    arm.exec_run(["true"])
    arm.kill()
    arm.remove(force=True)
    judge = client.containers.create(BASE, ["python3", "-I", "-S", "/v.py"], **fence)
    judge.put_archive("/", _archive("v.py", VERIFIER.encode()))
    judge.start()
    judge.wait()
    judge.remove(force=True)


def _archive(name: str, content: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def _scan(folder: Path) -> tuple[str, float, str, float, float, str]:
    sealed = _sealed(folder, SCAN_FILES)

    def ours() -> None:
        audit(sealed, FinishedTree(scan_finished(folder), "full-scan"), ())

    def referee() -> None:
        command = f"find {folder} -type f -print0 | xargs -0 sha256sum > /dev/null"
        subprocess.run(["sh", "-c", command], check=True)

    mine, theirs = _in_turns(ours, referee)
    what = f"full audit scan, {SCAN_FILES} files, s"
    return what, mine, "sha256sum", theirs, mine / theirs, "1.2x"


def _large(folder: Path) -> tuple[str, float, str, float, float, str]:
    sealed = _sealed(folder, LARGE_FILES)
    sandbox = DockerSandbox("bench")
    image = sandbox.load(sealed)
    arm = sandbox.open_arm(sealed, ENVIRONMENT, agent_files=AGENT, door=None)
    client = docker.from_env()
    try:
        edit = "for f in $(ls -d p1/*/* | head -9); do echo x >> $f; done; rm p2/m2/f2.py"
        arm.run(("sh", "-c", edit), environment={}, timeout_seconds=60, output_limit_bytes=1000)
        quick, full = _in_turns(lambda: _read_again(arm, sealed), lambda: _full(folder, sealed))
    finally:
        arm.close()
        client.images.remove(image, force=True)
        client.close()
    what = f"audit under Docker, {LARGE_FILES} files, 10 changes, s"
    return what, quick, "full scan", full, quick / full, "0.1x"


def _read_again(arm: object, sealed: SealedWorkspace) -> None:
    arm._merged = None  # what it read last time is not used again
    report = audit(sealed, arm.finished(), ())
    if (report.method, len(report.mutations)) != ("upper-directory", 10):
        raise AssertionError(report.method, report.mutations)


def _full(folder: Path, sealed: SealedWorkspace) -> None:
    audit(sealed, FinishedTree(scan_finished(folder), "full-scan"), ())


if __name__ == "__main__":
    for row in rows():
        sys.stdout.write(" | ".join(map(str, row)) + "\n")
