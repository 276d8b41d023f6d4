"""The real sandbox: each arm a container without a network, from one image identity.

What it enforces: no inherited environment, no operator's file, user 1000, no
capability, no new privileges, the challenge's limits read back from the engine, and an
end that leaves no process. It leaves to its caller what is run, audited and graded.
"""

from __future__ import annotations

import secrets
import threading
import time
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from docker import DockerClient
from docker.errors import ImageNotFound
from docker.models.containers import Container
from docker.models.images import Image
from docker.types import LogConfig
from requests.exceptions import ConnectionError as RequestsConnectionError
from requests.exceptions import ReadTimeout

from benchlib.contracts.attempt import Limits, SandboxFacts
from benchlib.contracts.boundaries import JudgedProcess, SealedWorkspace
from benchlib.contracts.challenge import Environment
from benchlib.errors import InWords, OutsideError
from benchlib.sandbox._archive import archived_entries
from benchlib.sandbox._docker_arm import DockerArm, files_archive, remove_container
from benchlib.sandbox._engine import Stream, connect, engine_errors
from benchlib.sandbox._files import folder_files, give_away, read_regular, remove_tree
from benchlib.sandbox._image import ensure_image, image_path, plan_image, write_layer
from benchlib.sandbox._places import (
    AGENT,
    CONFIGURATION_FOLDERS,
    DOOR,
    HOME,
    HOST_NAME,
    JUDGE_OUTPUT_BYTES,
    USER_ID,
    VERDICT,
    VERDICT_FILE,
    VERDICT_LIMIT_BYTES,
    VERIFIER,
    WORKSPACE,
    judge_environment,
    scratch_name,
)
from benchlib.sandbox._scratch import Scratch
from benchlib.sandbox._surface import export_surfaces
from benchlib.sandbox._upper import LowerTree

RUN_LABEL = "benchlib.run"
BASE_IMAGE = "benchlib/base:bookworm"

# A verifier's own bounds: generous, but a fork bomb in the workspace must not take the machine.
_JUDGE_MEMORY, _JUDGE_PROCESSES, _JUDGE_TMP = "2g", 1024, "rw,exec,nosuid,nodev,mode=1777,size=1g"


@dataclass(frozen=True)
class _Loaded:
    """A workspace that the engine has as an image."""

    image_id: str
    lower: LowerTree
    home_is_fresh: bool


class DockerSandbox:
    """Arms and verifiers as containers; one object serves many threads.

    Args:
        label: Of the run; left-overs are found by it.
        base_image: What stands around the workspace; it must be there already.
        may_read_upper: False to read whole workspaces even where the upper directory could
            be read; the audit is then slower and finds the same.
    """

    name: Literal["docker", "local"] = "docker"

    def __init__(
        self, label: str, *, base_image: str = BASE_IMAGE, may_read_upper: bool = True
    ) -> None:
        self._label = label
        self._base_name = base_image
        self._may_read_upper = may_read_upper
        self._scratch = Scratch(label, None)
        self._lock = threading.RLock()
        self._connection: DockerClient | None = None
        self._base_image: Image | None = None
        self._loaded: dict[tuple[Path, str], _Loaded] = {}
        self._surfaces: Mapping[str, Path] | None = None

    @property
    def _client(self) -> DockerClient:
        with self._lock:
            if self._connection is None:
                self._connection = connect()
                weakref.finalize(self, self._connection.close)
            return self._connection

    @property
    def _base(self) -> Image:
        """The base image as first seen: both arms must stand on the same, whatever is retagged."""
        with self._lock:
            if self._base_image is None:
                self._base_image = self._client.images.get(self._base_name)
            return self._base_image

    def preflight(self, environment: Environment) -> None:
        """Check the engine, the base image, and that the limits can hold here.

        Raises:
            OutsideError: One of them is not there; the message says how to get it.
        """
        with engine_errors("preflight"):
            machine = self._client.info()
            _ = self._base
        _refuse_more_than(
            "cpus", environment.milli_cpus, 1000 * int(machine["NCPU"]), "thousandths"
        )
        total_mb = int(machine["MemTotal"]) // 2**20
        _refuse_more_than("memory_mb", environment.memory_mb, total_mb, "megabytes")

    def load(self, sealed: SealedWorkspace) -> str:
        """Make the image that every arm of this workspace starts from; idempotent.

        It stays with the engine, so that the next run finds it. All of them go with
        ``docker image prune --all --filter label=benchlib.tree``.

        Returns:
            The image id: the same for equal trees on every machine with the same base.

        Raises:
            DriftError: The tree on disk is not the sealed one.
            InputError: The tree holds a special file or a `.git`.
            OutsideError: The engine failed.
        """
        return self._load(sealed).image_id

    def _load(self, sealed: SealedWorkspace, *, again: bool = False) -> _Loaded:
        with self._lock:
            key = (sealed.root, sealed.sha256)
            if again or key not in self._loaded:
                self._loaded[key] = self._load_now(sealed)
            return self._loaded[key]

    def _load_now(self, sealed: SealedWorkspace) -> _Loaded:
        folder = self._scratch.new()
        try:
            layer = write_layer(sealed, folder)
            with engine_errors("load a workspace"):
                plan = plan_image(self._base, layer, sealed.sha256)
                ensure_image(self._client, self._base, plan, layer)
                return _Loaded(plan.id, LowerTree(sealed.entries), self._home_is_fresh(plan.id))
        finally:
            remove_tree(folder)

    def _home_is_fresh(self, image_id: str) -> bool:
        """Look into the image's home; it can't change under an id, so once is enough."""
        container = self._client.containers.create(image_id, labels={RUN_LABEL: self._label})
        try:
            chunks, _ = container.get_archive(HOME)
            found = archived_entries(chunks, HOME.rpartition("/")[2], copy_to=None)
        finally:
            remove_container(container)
        ours = tuple(CONFIGURATION_FOLDERS.values())
        return all(entry.mode == "folder" and entry.path in ours for entry in found)

    def open_arm(
        self,
        sealed: SealedWorkspace,
        environment: Environment,
        *,
        agent_files: Mapping[str, bytes],
        door: Path | None,
    ) -> DockerArm:
        """Make one arm; it starts with its first turn.

        Args:
            sealed: The workspace.
            environment: What the arm is granted.
            agent_files: Laid into `/opt/agent`, read-only.
            door: The folder of the model's socket, mounted read-only; None for no model.

        Raises:
            OutsideError: The engine failed.
        """
        loaded = self._load(sealed)
        with engine_errors("open an arm"):
            try:
                container = self._create_arm(loaded.image_id, environment, door)
            except ImageNotFound:  # somebody cleaned up meanwhile; it comes back under its id
                loaded = self._load(sealed, again=True)
                container = self._create_arm(loaded.image_id, environment, door)
            try:
                container.put_archive("/opt", files_archive(AGENT[len("/opt/") :], agent_files))
                container.reload()
                facts = self._facts(container, sealed, loaded)
            except BaseException:
                remove_container(container)
                raise
        return DockerArm(
            self._client,
            container,
            sealed,
            loaded.lower,
            facts,
            may_read_upper=self._may_read_upper,
        )

    def _create_arm(self, image_id: str, environment: Environment, door: Path | None) -> Container:
        memory = f"{environment.memory_mb}m"
        return self._client.containers.create(
            image_id,
            name=self._new_name(),
            labels={RUN_LABEL: self._label},
            hostname=HOST_NAME,
            user=f"{USER_ID}:{USER_ID}",
            init=True,
            network_mode="none" if environment.network == "none" else "bridge",
            nano_cpus=environment.milli_cpus * 1_000_000,
            mem_limit=memory,
            memswap_limit=memory,  # else the engine grants as much again as swap
            pids_limit=environment.max_processes,
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
            tmpfs={"/tmp": f"rw,exec,nosuid,nodev,mode=1777,size={memory}"},  # noqa: S108 - the arm's own
            volumes={str(door.resolve()): {"bind": DOOR, "mode": "ro"}} if door else {},
            log_config=LogConfig(type=LogConfig.types.NONE),
        )

    def _new_name(self) -> str:
        return f"{scratch_name(self._label)}-{secrets.token_hex(6)}"

    def _facts(
        self, container: Container, sealed: SealedWorkspace, loaded: _Loaded
    ) -> SandboxFacts:
        configuration = container.attrs["Config"]
        variables = dict(one.split("=", 1) for one in configuration["Env"])
        return SandboxFacts(
            sandbox="docker",
            isolation="container",
            image=container.attrs["Image"],
            workspace_sha256=sealed.sha256,
            limits=_limits(container.attrs["HostConfig"]),
            user=configuration["User"],
            locale=variables.get("LC_ALL", ""),
            time_zone=variables.get("TZ", ""),
            home_was_fresh=loaded.home_is_fresh,
            parents_hidden=True,
            engine=f"docker {self._engine_version}",
        )

    @property
    def _engine_version(self) -> str:
        with self._lock:
            if self._version is None:
                self._version = str(self._client.version()["Version"])
            return self._version

    _version: str | None = None

    def judge(
        self,
        workspace: Path,
        verifier: Path,
        *,
        runtime: tuple[str, ...],
        timeout_seconds: int,
    ) -> JudgedProcess:
        """Run a verifier in a fresh container of the base image.

        The workspace is a copy and may be written to; the verifier's folder belongs to
        root in there. The verdict lies on a mount of its own.

        Args:
            workspace: The copy; it is given to the user that the verifier runs as.
            verifier: The verifier's folder.
            runtime: The argv; workspace and verdict file are appended.
            timeout_seconds: After this the container is killed.

        Raises:
            OutsideError: The engine failed.
        """
        channel = self._scratch.new()
        give_away(workspace, USER_ID)
        give_away(channel, USER_ID)
        try:
            with engine_errors("run a verifier"):
                container = self._create_judge(workspace, channel, runtime)
                try:
                    files = files_archive(VERIFIER[1:], folder_files(verifier))
                    container.put_archive("/", files)
                    return self._judged(container, channel, timeout_seconds)
                finally:
                    remove_container(container)
        finally:
            remove_tree(channel)

    def _create_judge(self, workspace: Path, channel: Path, runtime: tuple[str, ...]) -> Container:
        owner = workspace.stat()
        environment = judge_environment(HOME, image_path(self._base))
        return self._client.containers.create(
            str(self._base.id),
            name=self._new_name(),
            labels={RUN_LABEL: self._label},
            entrypoint=[runtime[0]],
            command=[*runtime[1:], WORKSPACE, f"{VERDICT}/{VERDICT_FILE}"],
            environment=environment,
            working_dir=VERIFIER,
            hostname=HOST_NAME,
            user=f"{owner.st_uid}:{owner.st_gid}",
            init=True,
            network_mode="none",
            mem_limit=_JUDGE_MEMORY,
            memswap_limit=_JUDGE_MEMORY,
            pids_limit=_JUDGE_PROCESSES,
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
            tmpfs={"/tmp": _JUDGE_TMP},  # noqa: S108 - the container's own
            volumes={
                str(workspace.resolve()): {"bind": WORKSPACE, "mode": "rw"},
                str(channel): {"bind": VERDICT, "mode": "rw"},
            },
            log_config=LogConfig(type=LogConfig.types.NONE),
        )

    def _judged(self, container: Container, channel: Path, timeout_seconds: int) -> JudgedProcess:
        api = self._client.api
        wanted = {"stdout": 1, "stderr": 1, "stream": 1}
        stream = Stream(api.attach_socket(str(container.id), params=wanted), JUDGE_OUTPUT_BYTES)
        try:
            container.start()
            started = time.monotonic()
            stream.drain(timeout_seconds)  # it closes when the last process has gone
            status = _wait(container, started + timeout_seconds)
            milliseconds = int((time.monotonic() - started) * 1000)
            if status is None:
                container.kill()
                stream.drain(5.0)
        finally:
            stream.close()
        found = read_regular(channel, VERDICT_FILE, limit_bytes=VERDICT_LIMIT_BYTES)
        return JudgedProcess(
            exit_status=status,
            timed_out=status is None,
            milliseconds=milliseconds,
            stdout=bytes(stream.stdout.head),
            stderr=bytes(stream.stderr.head),
            verdict=found[0] if found and found[1] <= VERDICT_LIMIT_BYTES else None,
        )

    def image_surface(self) -> Mapping[str, Path]:
        """Export home, parents, packages and caches of the base image, once per object."""
        with self._lock:
            if self._surfaces is None:
                self._surfaces = self._export_surfaces()
            return self._surfaces

    def _export_surfaces(self) -> Mapping[str, Path]:
        with engine_errors("read the image"):
            container = self._client.containers.create(
                str(self._base.id),
                name=self._new_name(),
                labels={RUN_LABEL: self._label},
                entrypoint=["sleep"],
                command=["infinity"],
                init=True,
                network_mode="none",
                log_config=LogConfig(type=LogConfig.types.NONE),
            )
            try:
                container.start()
                return export_surfaces(container, self._scratch.new() / "image")
            finally:
                remove_container(container)

    def remove_leftovers(self) -> tuple[str, ...]:
        """Remove containers and scratch folders of the same label, and of no other."""
        with engine_errors("remove left-overs"):
            found = self._client.containers.list(
                all=True, filters={"label": f"{RUN_LABEL}={self._label}"}, ignore_removed=True
            )
            for container in found:
                remove_container(container)
        names = sorted(str(container.name) for container in found)
        return (*names, *self._scratch.remove_leftovers())


def _refuse_more_than(field: str, wanted: int, there: int, unit: str) -> None:
    if wanted > there:
        raise OutsideError(
            "docker",
            f"environment.{field}",
            found=InWords(f"{wanted} {unit} wanted, {there} there"),
            allowed="what the engine's machine has",
            next_step="run on a larger machine, or plan a smaller environment",
        )


def _limits(host: Mapping[str, object]) -> Limits:
    """Read the limits from the engine's own account of a container."""

    def count(name: str) -> int:
        value = host.get(name)
        return value if isinstance(value, int) and value > 0 else 0

    dropped, options = host.get("CapDrop"), host.get("SecurityOpt")
    return Limits(
        milli_cpus=count("NanoCpus") // 1_000_000 or None,
        memory_bytes=count("Memory") or None,
        max_processes=count("PidsLimit") or None,
        network="none" if host.get("NetworkMode") == "none" else "open",
        capabilities_dropped=isinstance(dropped, list)
        and not host.get("CapAdd")
        and any(str(one).upper() == "ALL" for one in dropped),
        no_new_privileges=isinstance(options, list)
        and any(str(one) in {"no-new-privileges", "no-new-privileges:true"} for one in options),
    )


def _wait(container: Container, deadline: float) -> int | None:
    """Return the exit status of a container, or None when it is still up at the deadline."""
    left = max(0.05, deadline - time.monotonic())
    try:
        return int(container.wait(timeout=left)["StatusCode"])
    except (ReadTimeout, RequestsConnectionError):  # the SDK gives either for a read time-out
        return None
