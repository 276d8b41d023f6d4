"""What every contract is made of: a strict, frozen base and the field types.

Extra fields and NaN are forbidden, types are strict, instances are frozen and
collections are tuples. The bytes that are hashed are RFC 8785 canonical JSON.
Nothing inherits below ``Contract``; relations between fields stand in one
validator with one message.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Literal

import rfc8785
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

LARGEST_INTEGER = 2**53 - 1
"""The largest integer that JSON readers agree on (RFC 8785, I-JSON)."""

Version1 = Annotated[int, Field(ge=1, le=1)]  # `Literal[1]` would also let `true` and `1.0` in
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
GitCommit = Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{40}|[0-9a-f]{64})$")]
GitMode = Literal["100644", "100755", "120000", "160000"]
Identifier = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
ReasonCode = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64)]
Words = Annotated[str, StringConstraints(min_length=1, max_length=20_000)]
Count = Annotated[int, Field(ge=0, le=LARGEST_INTEGER)]
Milliseconds = Annotated[int, Field(ge=0, le=LARGEST_INTEGER)]
UtcTime = Annotated[str, StringConstraints(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z$")]
Argv = Annotated[
    tuple[Annotated[str, StringConstraints(max_length=4096, pattern=r"^[^\x00]*$")], ...],
    Field(min_length=1, max_length=256),
]
EnvironmentName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,127}$")]


class Contract(BaseModel):
    """The base of every artifact: strict, frozen, no field beside the declared ones."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        validate_default=True,
        ser_json_bytes="base64",
        protected_namespaces=(),
    )

    def canonical(self) -> bytes:
        """Return the RFC 8785 bytes; digests are taken of these and of nothing else."""
        return rfc8785.dumps(self.model_dump(mode="json", by_alias=True))

    def canonical_sha256(self) -> str:
        """Return the SHA-256 of the canonical bytes as 64 lower-case hexadecimal digits."""
        return hashlib.sha256(self.canonical()).hexdigest()
