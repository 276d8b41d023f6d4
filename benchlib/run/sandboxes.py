"""The two sandboxes, by name."""

from __future__ import annotations

from typing import Literal

from benchlib.contracts.boundaries import Sandbox
from benchlib.errors import InputError
from benchlib.prepare import auto_loaded_paths

SandboxName = Literal["docker", "local"]


def open_sandbox(name: str, *, label: str) -> Sandbox:
    """Return a sandbox whose left-overs can be found again by its label.

    Args:
        name: ``docker`` or ``local``.
        label: Of the run; see ``run_label``.

    Raises:
        InputError: There is no sandbox of that name.
    """
    if name == "docker":
        from benchlib.sandbox.docker import DockerSandbox  # noqa: PLC0415 - the SDK is heavy

        return DockerSandbox(label)
    if name == "local":
        from benchlib.sandbox.local import LocalSandbox  # noqa: PLC0415 - as above

        return LocalSandbox(label, scratch_root=None, auto_loaded=auto_loaded_paths)
    raise InputError(
        "--sandbox", found=name, allowed="docker or local", next_step="choose one of them"
    )
