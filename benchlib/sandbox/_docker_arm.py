"""One arm in a container: turns, what they left, and the end.

A turn is an exec; when it is over, what is still alive is named and the container is
killed, for only that ends everything. The next turn starts the same container again:
workspace and home are in its own layer and stay as they were, `/tmp` is new.
"""

from __future__ import annotations

import io
import tarfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import cast

from docker import DockerClient
from docker.errors import APIError, NotFound
from docker.models.containers import Container

from benchlib.contracts.attempt import ProcessRecord, SandboxFacts, Survivor
from benchlib.contracts.boundaries import ArmPaths, FinishedTree, SealedWorkspace, Turn
from benchlib.errors import escaped
from benchlib.sandbox._archive import ChunkReader, archived_entries
from benchlib.sandbox._engine import EngineSocket, Stream, engine_errors
from benchlib.sandbox._files import copy_entries, read_regular
from benchlib.sandbox._places import AGENT, DOOR, HOME, WORKSPACE
from benchlib.sandbox._process_table import members, namespace_of, parent_of, survivors
from benchlib.sandbox._programs import file_permissions, refuse_names
from benchlib.sandbox._upper import LowerTree, Merged, UnreadableUpperError, merge_upper

KILLED = 9
_END_SECONDS = 30
_AFTERMATH_SECONDS = 5.0  # for output that was written before the end and not yet read
_SHOWN_ARGV = 1000


class DockerArm:
    """One arm; made by `DockerSandbox.open_arm`.

    Args:
        client: The connection.
        container: Created, not started; the agent's files are in it.
        sealed: What its workspace began as.
        lower: The same, ready for the merge.
        facts: What was read back from the engine.
        may_read_upper: False to read the whole workspace in any case.
    """

    def __init__(
        self,
        client: DockerClient,
        container: Container,
        sealed: SealedWorkspace,
        lower: LowerTree,
        facts: SandboxFacts,
        *,
        may_read_upper: bool,
    ) -> None:
        self.facts = facts
        self.paths = ArmPaths(workspace=WORKSPACE, home=HOME, agent=AGENT, door=DOOR)
        self._client = client
        self._container = container
        self._sealed = sealed
        self._lower = lower
        self._upper = _upper_directory(container) if may_read_upper else None
        self._merged: Merged | None = None
        self._may_run = False

    def run(
        self,
        argv: tuple[str, ...],
        *,
        environment: Mapping[str, str],
        timeout_seconds: int,
        output_limit_bytes: int,
    ) -> Turn:
        """Run one program, then kill the container.

        A program that a signal ended has the status 128 plus the signal: the engine
        does not tell it from a program that returned this number itself.
        """
        self._merged = None
        with engine_errors("run the agent"):
            self._may_run = True
            # A container that ended by itself may still count as running, and would not start.
            self._container.wait(timeout=_END_SECONDS, condition="not-running")
            self._container.start()
            try:
                return self._turn(argv, environment, timeout_seconds, output_limit_bytes)
            finally:
                self._kill()

    def _turn(
        self,
        argv: tuple[str, ...],
        environment: Mapping[str, str],
        timeout_seconds: int,
        output_limit_bytes: int,
    ) -> Turn:
        api = self._client.api
        exec_id = api.exec_create(
            self._container.id, list(argv), environment=dict(environment), workdir=WORKSPACE
        )["Id"]
        watch = _Exec(self._client, exec_id)
        started = time.monotonic()
        socket = cast("EngineSocket", api.exec_start(exec_id, socket=True))
        stream = Stream(socket, output_limit_bytes)
        try:
            in_time = stream.follow(watch.is_running, started + timeout_seconds)
            milliseconds = int((time.monotonic() - started) * 1000)
            survivors = self._survivors()
            self._kill()
            stream.drain(_AFTERMATH_SECONDS)
        finally:
            stream.close()
        was_killed = not in_time or watch.exit_status is None
        record = ProcessRecord(
            argv=argv,
            exit_status=None if was_killed else watch.exit_status,
            signal=KILLED if was_killed else None,
            timed_out=not in_time,
            milliseconds=milliseconds,
            stdout_bytes=stream.stdout.size_bytes,
            stderr_bytes=stream.stderr.size_bytes,
            survivors=survivors,
        )
        return Turn(record, bytes(stream.stdout.head), bytes(stream.stderr.head))

    def _survivors(self) -> tuple[Survivor, ...]:
        """List what is alive, but for init and the idle program that keeps the container up.

        The process table tells it at once where the engine is on this machine; the engine
        itself needs a program of its own for it.
        """
        if self._upper is None:
            return self._survivors_by_engine()
        self._container.reload()
        init = int(self._container.attrs["State"]["Pid"])
        namespace = namespace_of(init) if init else None
        if namespace is None:  # the container itself has ended, and everything in it
            return ()
        alive = [pid for pid in members(namespace) if pid != init]
        return survivors(_without_idle(alive, {pid: parent_of(pid) for pid in alive}, init))

    def _survivors_by_engine(self) -> tuple[Survivor, ...]:
        try:
            rows = self._container.top(ps_args="-eo pid,ppid,stat,args")["Processes"] or []
        except APIError:  # the container itself has ended, and everything in it
            return ()
        argv = {int(pid): text for pid, _, state, text in rows if state[0] != "Z"}
        parents = {int(pid): int(parent) for pid, parent, _, _ in rows if int(pid) in argv}
        # Init is no child of a process inside, and came before the others of which this holds.
        init = min((pid for pid in argv if parents[pid] not in argv), default=0)
        left = _without_idle([pid for pid in sorted(argv) if pid != init], parents, init)
        return tuple(Survivor(pid=pid, argv=escaped(argv[pid])[:_SHOWN_ARGV]) for pid in left)

    def _kill(self) -> None:
        if not self._may_run:
            return
        try:
            self._container.kill()
        except (NotFound, APIError) as error:
            # 404: gone. 409: it has ended already.
            if error.status_code not in {404, 409}:
                raise
        self._may_run = False

    def finished(self) -> FinishedTree:
        """Read the workspace: the upper directory where it can be trusted, else everything."""
        merged = self._merge()
        if merged:
            return FinishedTree(merged.entries, "upper-directory")
        with engine_errors("read the workspace"):
            chunks, _ = self._container.get_archive(WORKSPACE)
            return FinishedTree(archived_entries(chunks, WORKSPACE[1:], copy_to=None), "full-scan")

    def _merge(self) -> Merged | None:
        if self._upper and not self._merged:
            try:
                self._merged = merge_upper(self._upper / WORKSPACE[1:], self._lower)
            except (UnreadableUpperError, PermissionError):
                self._upper = None
        return self._merged

    def read_home(self, path: str, *, limit_bytes: int) -> bytes | None:
        """Return the head of a file of the home; no link is followed."""
        if self._upper:
            found = read_regular(self._upper / HOME[1:], path, limit_bytes=limit_bytes)
            return found[0] if found else None
        with engine_errors("read the agent's log"):
            try:
                chunks, _ = self._container.get_archive(f"{HOME}/{path}")
            except NotFound:
                return None
            return _only_file(chunks, limit_bytes)

    def copy_workspace(self, destination: Path) -> None:
        """Copy the finished workspace into a new folder, `.git` left out."""
        merged = self._merge()
        if merged:
            copy_entries(merged.entries, destination, merged.places, unchanged=self._sealed.root)
            return
        with engine_errors("copy the workspace"):
            chunks, _ = self._container.get_archive(WORKSPACE)
            archived_entries(chunks, WORKSPACE[1:], copy_to=destination)

    def close(self) -> None:
        """Remove the container and its layer."""
        with engine_errors("remove an arm"):
            remove_container(self._container)


def _without_idle(alive: list[int], parents: Mapping[int, int], init: int) -> list[int]:
    """Leave out init's first child, which keeps the container up; orphans come after it."""
    idle = next((pid for pid in alive if parents[pid] == init), None)
    return [pid for pid in alive if pid != idle]


class _Exec:
    """Asks after one exec, and remembers how it ended."""

    def __init__(self, client: DockerClient, exec_id: str) -> None:
        self._client = client
        self._id = exec_id
        self.exit_status: int | None = None

    def is_running(self) -> bool:
        try:
            state = self._client.api.exec_inspect(self._id)
        except NotFound:  # its container has ended, and the exec with it
            return False
        if state["Running"]:
            return True
        self.exit_status = state["ExitCode"]
        return False


def remove_container(container: Container) -> None:
    """Remove a container at once, with its anonymous volumes; one that is gone is no error."""
    try:
        container.remove(force=True, v=True)
    except NotFound:
        pass
    except APIError as error:
        if error.status_code != 409:  # another caller is removing it
            raise


def files_archive(folder: str, files: Mapping[str, bytes]) -> bytes:
    """Pack files for a container: owned by root, so that an agent can read and not write.

    Args:
        folder: The folder's name in the archive.
        files: By name; a name may have folders. A file that begins with ``#!`` may be executed.
    """
    refuse_names(tuple(files))
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        folders = {folder}
        for name in files:
            parts = f"{folder}/{name}".split("/")
            folders |= {"/".join(parts[:depth]) for depth in range(1, len(parts))}
        for name in sorted(folders):
            member = tarfile.TarInfo(name)
            member.type, member.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(member)
        for name, content in sorted(files.items()):
            member = tarfile.TarInfo(f"{folder}/{name}")
            member.size, member.mode = len(content), file_permissions(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def _upper_directory(container: Container) -> Path | None:
    """Return the container's upper directory when it can be read here and is really its own.

    The agent's folder was put into the container through the engine; a folder of that
    path on this machine that does not hold it belongs to another machine's engine.
    """
    driver = container.attrs.get("GraphDriver") or {}
    upper = (driver.get("Data") or {}).get("UpperDir")
    if driver.get("Name") != "overlay2" or not upper:
        return None
    try:
        return Path(upper) if (Path(upper) / AGENT[1:]).is_dir() else None
    except PermissionError:
        return None


def _only_file(chunks: Iterable[bytes], limit_bytes: int) -> bytes | None:
    with tarfile.open(fileobj=io.BufferedReader(ChunkReader(chunks)), mode="r|") as archive:
        member = archive.next()
        file = archive.extractfile(member) if member and member.isreg() else None
        return file.read(limit_bytes) if file else None
