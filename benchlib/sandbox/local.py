"""The sandbox without an engine: bubblewrap where it works, else a plain process.

What it enforces: an environment made from nothing, a fresh home, an end that leaves no
process. Under bubblewrap an arm sees the same places as in a container and nothing of
the operator's. A plain process sees the whole machine: it is refused where a parent
folder holds what a harness would load, and its facts claim no isolation and no limit.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

from benchlib.contracts.attempt import Limits, SandboxFacts
from benchlib.contracts.boundaries import (
    ArmPaths,
    JudgedProcess,
    SealedWorkspace,
)
from benchlib.contracts.challenge import Environment
from benchlib.errors import InWords, OutsideError, RefusedError
from benchlib.sandbox._bubblewrap import (
    Namespace,
    find_namespace,
)
from benchlib.sandbox._files import read_regular, remove_tree
from benchlib.sandbox._inside import arm_inside, judge_inside
from benchlib.sandbox._layout import lay_out
from benchlib.sandbox._local_arm import Folders, LocalArm, copy_layout
from benchlib.sandbox._places import (
    AGENT,
    DOOR,
    HOME,
    JUDGE_OUTPUT_BYTES,
    LOCALE,
    TIME_ZONE,
    USER_ID,
    VERDICT,
    VERDICT_FILE,
    VERDICT_LIMIT_BYTES,
    WORKSPACE,
)
from benchlib.sandbox._plain import arm_plain, judge_plain, open_plain
from benchlib.sandbox._scratch import Scratch

Isolation = Literal["namespace", "none"]


class LocalSandbox:
    """Arms and verifiers as processes of this machine; one object serves many threads.

    Args:
        label: Of the run; left-overs are found by it.
        scratch_root: Where scratch folders are made; None for the system's temporary folder.
        auto_loaded: Names what a harness would load from one folder, relative to it.
        isolation: Insists on one; None takes a namespace where one can be had.
    """

    name: Literal["docker", "local"] = "local"

    def __init__(
        self,
        label: str,
        *,
        scratch_root: Path | None,
        auto_loaded: Callable[[Path], tuple[str, ...]],
        isolation: Isolation | None = None,
    ) -> None:
        self._scratch = Scratch(label, scratch_root)
        self._auto_loaded = auto_loaded
        self._wanted = isolation
        self._lock = threading.RLock()
        self._was_tried = False
        self._found: Namespace | None = None
        self._layouts: dict[tuple[Path, str], Path] = {}
        self._surfaces: Mapping[str, Path] | None = None

    @property
    def _namespace(self) -> Namespace | None:
        """The namespace that arms run in; None for plain processes."""
        with self._lock:
            if not self._was_tried and self._wanted != "none":
                self._found = find_namespace(self._scratch.new())
                self._was_tried = True
            if self._wanted == "namespace" and self._found is None:
                raise OutsideError(
                    "local sandbox",
                    "isolation",
                    found=InWords("no bubblewrap that can make a namespace with Python 3.11 in it"),
                    allowed="`bwrap --unshare-all` works for this user",
                    next_step="apt-get install bubblewrap and allow user namespaces, or use docker",
                )
            return self._found

    def preflight(self, environment: Environment) -> None:
        """Refuse to run where a parent folder would speak to an agent.

        Raises:
            OutsideError: A namespace was insisted on and can't be made.
            RefusedError: Parents can't be hidden, and one holds what a harness loads.
        """
        _ = environment  # no limit of it can hold here in a way that could be missing
        if self._namespace is None:
            self._refuse_speaking_parents()

    def _refuse_speaking_parents(self) -> None:
        findings = [
            self._speaking_parent(folder, name)
            for folder in (self._scratch.family, *self._scratch.family.parents)
            if folder.is_dir()
            for name in self._auto_loaded(folder)
        ]
        if findings:
            first, *rest = findings
            raise RefusedError(
                first.place,
                found=first.parts()[0]["found"],
                allowed=first.allowed,
                next_step=first.next_step,
                also=tuple(rest),
            )

    def _speaking_parent(self, folder: Path, name: str) -> RefusedError:
        return RefusedError(
            str(folder / name),
            found=InWords(f"{name}, which a harness loads when it walks up from a workspace"),
            allowed=f"no such file above {self._scratch.family}, for it can't be hidden here",
            next_step="install bubblewrap, use --sandbox docker, or set TMPDIR to another place",
        )

    def load(self, sealed: SealedWorkspace) -> str:
        """Lay the workspace out once; every arm gets a copy of that.

        Returns:
            `tree:` and the tree digest: there is no engine to vouch for more.

        Raises:
            DriftError: The tree on disk is not the sealed one.
            InputError: The tree holds a special file or a `.git`.
        """
        self._layout(sealed)
        return f"tree:{sealed.sha256}"

    def _layout(self, sealed: SealedWorkspace) -> Path:
        with self._lock:
            key = (sealed.root, sealed.sha256)
            if key not in self._layouts:
                folder = self._scratch.new() / "tree"
                lay_out(sealed, folder)
                self._layouts[key] = folder
            return self._layouts[key]

    def open_arm(
        self,
        sealed: SealedWorkspace,
        environment: Environment,
        *,
        agent_files: Mapping[str, bytes],
        door: Path | None,
    ) -> LocalArm:
        """Make one arm.

        Args:
            sealed: The workspace.
            environment: What the arm is granted; see the facts for what holds.
            agent_files: Laid where the agent finds them.
            door: The folder of the model's socket; None for no model.

        Raises:
            OutsideError: The workspace could not be copied.
            RefusedError: See `preflight`.
        """
        namespace = self._namespace
        if namespace is None:
            self._refuse_speaking_parents()
        layout = self._layout(sealed)
        folders = Folders(self._scratch.new())
        try:
            copy_layout(layout, folders.workspace)
            is_fresh = folders.make_home()
            folders.lay_agent(agent_files)
            facts = _facts(sealed, environment, namespace, home_was_fresh=is_fresh)
            if namespace:
                paths = ArmPaths(workspace=WORKSPACE, home=HOME, agent=AGENT, door=DOOR)
                run = arm_inside(namespace, folders, environment, door)
            else:
                paths = open_plain(folders, door)
                run = arm_plain(folders)
        except BaseException:
            remove_tree(folders.root)
            raise
        return LocalArm(facts, paths, folders, run)

    def judge(
        self,
        workspace: Path,
        verifier: Path,
        *,
        runtime: tuple[str, ...],
        timeout_seconds: int,
    ) -> JudgedProcess:
        """Run a verifier on a copy of a workspace, with a verdict folder of its own.

        In a namespace there is no network and the verifier can't be written to. A plain
        process gets a copy of the verifier, and the network can't be closed.

        Args:
            workspace: The copy.
            verifier: The verifier's folder.
            runtime: The argv; workspace and verdict file are appended.
            timeout_seconds: After this everything is killed.
        """
        folders = Folders(self._scratch.new())
        channel = folders.root / "verdict"
        channel.mkdir()
        folders.home.mkdir()
        namespace = self._namespace
        try:
            if namespace:
                judging = judge_inside(namespace, folders, workspace, verifier)
                argv = (*runtime, WORKSPACE, f"{VERDICT}/{VERDICT_FILE}")
            else:
                judging = judge_plain(folders, verifier)
                argv = (*runtime, str(workspace.resolve()), str(channel / VERDICT_FILE))
            ending = judging(argv, {}, timeout_seconds, JUDGE_OUTPUT_BYTES)
            found = read_regular(channel, VERDICT_FILE, limit_bytes=VERDICT_LIMIT_BYTES)
        finally:
            remove_tree(folders.root)
        return ending.judged(found[0] if found and found[1] <= VERDICT_LIMIT_BYTES else None)

    def image_surface(self) -> Mapping[str, Path]:
        """Return what stands around a workspace, as an arm sees it.

        That is nothing: parents and installed packages are hidden in a namespace, and a
        plain process gets a Python without packages. What else it may read of the machine
        can't be listed: its facts say that nothing is hidden.
        """
        with self._lock:
            if self._surfaces is None:
                root = self._scratch.new()
                for name in ("home", "parents", "packages", "caches"):
                    (root / name).mkdir()
                self._surfaces = {one.name: one for one in root.iterdir()}
            return self._surfaces

    def remove_leftovers(self) -> tuple[str, ...]:
        """Remove scratch folders of the same label; their processes died with the runner."""
        return self._scratch.remove_leftovers()


def _facts(
    sealed: SealedWorkspace,
    environment: Environment,
    namespace: Namespace | None,
    *,
    home_was_fresh: bool,
) -> SandboxFacts:
    plain = Limits(
        milli_cpus=None,
        memory_bytes=None,
        max_processes=None,
        network="unrestricted",
        capabilities_dropped=False,
        no_new_privileges=False,
    )
    fenced = Limits(
        milli_cpus=None,
        memory_bytes=None,  # each process has a bound of its own, all together have none
        # The kernel exempts root, as which the namespace's processes count outside.
        max_processes=environment.max_processes if os.geteuid() else None,
        network=environment.network,
        capabilities_dropped=True,
        no_new_privileges=True,
    )
    python = ".".join(map(str, sys.version_info[:3]))
    return SandboxFacts(
        sandbox="local",
        isolation="namespace" if namespace else "none",
        image=f"tree:{sealed.sha256}",
        workspace_sha256=sealed.sha256,
        limits=fenced if namespace else plain,
        user=f"{USER_ID}:{USER_ID}" if namespace else f"{os.geteuid()}:{os.getegid()}",
        locale=LOCALE,
        time_zone=TIME_ZONE,
        home_was_fresh=home_was_fresh,
        parents_hidden=namespace is not None,
        engine=(
            f"{namespace.version}, python {namespace.interpreter.version}"
            if namespace
            else f"process, python {python}"
        ),
    )
