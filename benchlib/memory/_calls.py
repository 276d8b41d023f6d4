"""One call of a provisioner: start, feed, wait, judge. Everything that it did stands in a record.

A call succeeds when, in this order: it could be started, its output kept its limit, it
ended in time with both outputs closed, of its own accord and with status 0, left no
process behind, and printed one strict JSON object that keeps the contract.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import ValidationError

from benchlib.contracts.base import Contract
from benchlib.contracts.cohort import Provisioner, VerbLimits
from benchlib.contracts.provisioner import (
    ProjectRequest,
    ProvisionerCall,
    RestoreRequest,
    RestoreResponse,
    SnapshotResponse,
    Verb,
)
from benchlib.contracts.reading import StrictJsonError, read
from benchlib.errors import InputError, InWords, OutsideError, escaped
from benchlib.memory._reasons import RULES
from benchlib.processes import Finished, run_supervised

_ResponseT = TypeVar("_ResponseT", bound=Contract)

_SHOWN_STDERR = 2048
_EPOCH = "315532800"  # 1980-01-01, the earliest time that a zip archive can carry


class ProvisionerError(OutsideError):
    """A memory system broke the protocol, or the fixture's own checks of its memory.

    Args:
        call: The record of the call; its reason says what was broken.
        name: The memory system's name.
        calls: All calls until then, this one included.
    """

    def __init__(
        self, call: ProvisionerCall, *, name: str, calls: tuple[ProvisionerCall, ...] = ()
    ) -> None:
        reason = call.reason or "nonzero-exit"
        self.reason = reason
        self.call = call
        self.calls = calls or (call,)
        rule = RULES[reason]
        super().__init__(
            f"{name}: {call.verb}",
            reason,
            found=InWords(call.detail),
            allowed=rule.allowed,
            next_step=rule.next_step,
        )


@dataclass(frozen=True)
class PairFolder:
    """The folder of one restored memory; a provisioner works in ``state`` and sees no more.

    Args:
        root: The folder itself.
    """

    root: Path

    @property
    def state(self) -> Path:
        """The working folder of every call, and of the server of tools."""
        return self.root / "state"

    @property
    def artifacts(self) -> Path:
        """The private copies, inside the working folder."""
        return self.state / "artifacts"

    @property
    def home(self) -> Path:
        """What ``HOME`` names."""
        return self.root / "home"

    @property
    def originals(self) -> Path:
        """Which files are hashed again after destroy."""
        return self.root / "originals.json"

    def make(self) -> None:
        """Make what is missing."""
        for folder in (self.state, self.home, self.root / "tmp"):
            folder.mkdir(parents=True, exist_ok=True)

    def environment(self, provisioner: Provisioner) -> Mapping[str, str]:
        """Return all that a call's environment holds: nothing arrives by accident."""
        listed = {name: os.environ[name] for name in provisioner.environment if name in os.environ}
        return {
            **listed,
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.home),
            "TMPDIR": str(self.root / "tmp"),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "SOURCE_DATE_EPOCH": _EPOCH,
        }


@dataclass(frozen=True)
class Answer(Generic[_ResponseT]):
    """A good response, and the record of its call."""

    response: _ResponseT
    call: ProvisionerCall


@dataclass(frozen=True)
class _Fault:
    reason: str
    detail: str


def ask(
    provisioner: Provisioner,
    verb: Verb,
    request: RestoreRequest | ProjectRequest,
    response: type[_ResponseT],
    folder: PairFolder,
) -> Answer[_ResponseT]:
    """Call one verb.

    Args:
        provisioner: The memory system.
        verb: What it should do.
        request: The one object that it reads.
        response: The contract of the one object that it must print.
        folder: The pair's folder.

    Returns:
        The response and the record.

    Raises:
        ProvisionerError: A rule of the module's docstring is broken.
    """
    limits: VerbLimits = getattr(provisioner.limits, verb)
    data = request.canonical() + b"\n"
    if len(data) > provisioner.limits.stdin_bytes:
        raise InputError(
            f"{provisioner.name}: {verb}",
            "limits.stdin_bytes",
            found=len(data),
            allowed=f"a request of at most {provisioner.limits.stdin_bytes} bytes",
            next_step="raise the limit in the plan",
        )
    folder.make()
    done = run_supervised(
        [*provisioner.argv, verb],
        cwd=folder.state,
        environment=folder.environment(provisioner),
        stdin=data,
        timeout_seconds=limits.seconds,
        stdout_limit_bytes=limits.stdout_bytes,
        stderr_limit_bytes=provisioner.limits.stderr_bytes,
        stop_at_stdout_limit=True,
        grace_seconds=provisioner.limits.grace_seconds,
    )
    fault = _process_fault(done, limits)
    parsed = None if fault else _parsed(response, done.stdout, limits)
    if isinstance(parsed, _Fault):
        fault, parsed = parsed, None
    call = _record(provisioner, verb, done, len(data), fault)
    if parsed is None:
        raise ProvisionerError(call, name=provisioner.name)
    return Answer(parsed, call.model_copy(update={"detail": _remark(parsed, done)}))


def kill_restore(
    provisioner: Provisioner, request: RestoreRequest, folder: PairFolder, seconds: float
) -> None:
    """Start a restore and kill it after a while, as a crash would; what it printed is ignored."""
    run_supervised(
        [*provisioner.argv, "restore"],
        cwd=folder.state,
        environment=folder.environment(provisioner),
        stdin=request.canonical() + b"\n",
        timeout_seconds=seconds,
        stdout_limit_bytes=provisioner.limits.restore.stdout_bytes,
        stderr_limit_bytes=provisioner.limits.stderr_bytes,
        stop_at_stdout_limit=True,
        grace_seconds=0,
    )


def never_called(provisioner: Provisioner, verb: Verb, reason: str, detail: str) -> ProvisionerCall:
    """Return the record of a call that was refused before anything was started."""
    return ProvisionerCall(
        verb=verb,
        reason=reason,
        detail=escaped(detail),
        exit_status=None,
        signal=None,
        milliseconds=0,
        bytes_in=0,
        bytes_out=0,
        stderr_head="",
        stderr_bytes=0,
        argv=(*provisioner.argv, verb),
    )


def _process_fault(done: Finished, limits: VerbLimits) -> _Fault | None:
    """Return the first rule that the process itself broke."""
    left = ", ".join(f"{one.argv} ({one.pid})" for one in done.survivors[:5])
    rules = (
        (done.spawn_error is not None, "spawn-failed", str(done.spawn_error)),
        (
            done.stdout_overflowed,
            "output-too-large",
            f"more than the limit of {limits.stdout_bytes} bytes on stdout",
        ),
        (done.timed_out, "timeout", f"not ended after the limit of {limits.seconds} s"),
        (done.signal is not None, "killed-by-signal", f"signal {done.signal}"),
        (done.exit_status != 0, "nonzero-exit", f"exit status {done.exit_status}"),
        (bool(left), "left-children", f"{len(done.survivors)} still alive: {left}"),
    )
    return next((_Fault(reason, detail) for broken, reason, detail in rules if broken), None)


def _parsed(response: type[_ResponseT], stdout: bytes, limits: VerbLimits) -> _ResponseT | _Fault:
    try:
        answer = read(response, stdout, "stdout")
    except InputError as error:
        return _contract_fault(error, stdout)
    seconds = _own_seconds(answer)
    if seconds is not None and seconds > limits.seconds:
        return _Fault("wrong-type", f"{seconds} s, beyond the limit of {limits.seconds} s")
    return answer


def _contract_fault(error: InputError, stdout: bytes) -> _Fault:
    cause = error.__cause__
    if isinstance(cause, StrictJsonError):
        head = escaped(stdout[:80].decode(errors="replace"))
        return _Fault(cause.reason, f"{cause.detail}; stdout begins {head!r}")
    places = (
        {entry["type"]: str(entry["loc"][-1]) for entry in cause.errors() if entry["loc"]}
        if isinstance(cause, ValidationError)
        else {}
    )
    for kind, reason in _KINDS.items():
        if kind in places:
            told = next(
                (one for one in (error, *error.also) if one.field.endswith(places[kind])), error
            )
            return _Fault(reason, f"{told.field}: {told.found}")
    return _Fault("wrong-type", f"{error.field}: {error.found}, allowed {error.allowed}")


# By pydantic's name of the rule; of several, the first of these is the reason.
_KINDS = {
    "extra_forbidden": "unknown-field",
    "missing": "missing-field",
    "finite_number": "non-finite-number",
}


def _own_seconds(answer: Contract) -> float | None:
    """Return the provisioner's own clock, where it says one."""
    if isinstance(answer, RestoreResponse):
        return answer.restore_seconds
    return answer.snapshot_seconds if isinstance(answer, SnapshotResponse) else None


def _remark(answer: Contract, done: Finished) -> str:
    """Say when the two clocks differ by more than a second and a tenth."""
    said, measured = _own_seconds(answer), done.milliseconds / 1000
    if said is None or abs(said - measured) <= 1 + measured / 10:
        return ""
    return f"it says {said:.3f} s, the runner measured {measured:.3f} s"


def _record(
    provisioner: Provisioner, verb: Verb, done: Finished, bytes_in: int, fault: _Fault | None
) -> ProvisionerCall:
    return ProvisionerCall(
        verb=verb,
        reason=fault.reason if fault else None,
        detail=escaped(fault.detail) if fault else "",
        exit_status=done.exit_status,
        signal=done.signal,
        milliseconds=done.milliseconds,
        bytes_in=bytes_in,
        bytes_out=done.stdout_bytes,
        stderr_head=escaped(done.stderr[:_SHOWN_STDERR].decode(errors="replace")),
        stderr_bytes=done.stderr_bytes,
        argv=(*provisioner.argv, verb),
    )
