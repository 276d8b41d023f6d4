"""How one program of an arm or a verifier ended, in either local isolation."""

from __future__ import annotations

from dataclasses import dataclass

from benchlib.contracts.attempt import ProcessRecord, Survivor
from benchlib.contracts.boundaries import JudgedProcess, Turn
from benchlib.contracts.paths import path_fault
from benchlib.errors import InputError


@dataclass(frozen=True)
class Ending:
    """The end of a program and of all that it started."""

    exit_status: int | None  # None when it was killed
    signal: int | None
    timed_out: bool
    milliseconds: int
    stdout: bytes
    stderr: bytes
    stdout_bytes: int
    stderr_bytes: int
    survivors: tuple[Survivor, ...]

    def turn(self, argv: tuple[str, ...]) -> Turn:
        """Tell it as an agent's turn."""
        record = ProcessRecord(
            argv=argv,
            exit_status=None if self.timed_out else self.exit_status,
            signal=self.signal,
            timed_out=self.timed_out,
            milliseconds=self.milliseconds,
            stdout_bytes=self.stdout_bytes,
            stderr_bytes=self.stderr_bytes,
            survivors=self.survivors,
        )
        return Turn(record, self.stdout, self.stderr)

    def judged(self, verdict: bytes | None) -> JudgedProcess:
        """Tell it as a verifier's run."""
        return JudgedProcess(
            exit_status=None if self.timed_out else self.exit_status,
            timed_out=self.timed_out,
            milliseconds=self.milliseconds,
            stdout=self.stdout,
            stderr=self.stderr,
            verdict=verdict,
        )


def file_permissions(content: bytes) -> int:
    """Return the permissions of a handed-in file: a script may be executed, nothing written."""
    return 0o755 if content.startswith(b"#!") else 0o644


def refuse_names(names: tuple[str, ...]) -> None:
    """Refuse names that would leave the folder they are laid into."""
    for name in names:
        fault = path_fault(name)
        if fault:
            raise InputError(
                "agent files",
                found=name,
                allowed=f"a portable relative path; this one has {fault}",
                next_step="rename the file in the adapter",
            )
