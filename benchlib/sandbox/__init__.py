"""Where an arm runs, and where a verifier judges: Docker, and a local default.

Both give an agent the same places (`_places`), the same tree with the same one
commit (`_repository`), a fresh home and nothing of the operator. Both say in their
facts what really holds an arm, and None where nothing does.

Decisions: one image identity per sealed workspace, known before the engine is asked,
instead of a copy into each container: that two arms began alike is then a fact the
engine checks. The end of a turn kills the container or the namespace; nothing is asked
politely, for only that ends everything. What changed is read from the container's upper
directory where it can be trusted, else the whole workspace is read; both give the same
entries. `.git` is the agent's own business: it is neither audited nor handed to a
verifier, since a repository that the agent wrote can run programs of its choice.
The SDK is loaded by the Docker sandbox alone, so that a local run does not pay for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchlib.sandbox.docker import DockerSandbox
    from benchlib.sandbox.local import LocalSandbox

__all__ = ["DockerSandbox", "LocalSandbox"]


def __getattr__(name: str) -> type[DockerSandbox | LocalSandbox]:
    """Load a sandbox when it is first asked for."""
    if name == "DockerSandbox":
        from benchlib.sandbox.docker import DockerSandbox  # noqa: PLC0415 - see the decisions

        return DockerSandbox
    if name == "LocalSandbox":
        from benchlib.sandbox.local import LocalSandbox  # noqa: PLC0415 - as above

        return LocalSandbox
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
