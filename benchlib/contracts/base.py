"""What every contract is made of: a strict, frozen base and the field types.

Extra fields and NaN are forbidden, types are strict, instances are frozen and
collections are tuples. The bytes that are hashed are RFC 8785 canonical JSON.
Nothing inherits below ``Contract``; relations between fields stand in one
validator with one message.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

import rfc8785
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from benchlib.errors import InputError, InWords

LARGEST_INTEGER = 2**53 - 1
"""The largest integer that JSON readers agree on (RFC 8785, I-JSON)."""


def _on_the_calendar(text: str) -> str:
    try:
        datetime.fromisoformat(text)
    except ValueError as error:
        msg = f"a day and time that exist ({error})"
        raise ValueError(msg) from error
    return text


Version1 = Annotated[int, Field(ge=1, le=1)]  # `Literal[1]` would also let `true` and `1.0` in
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
GitCommit = Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{40}|[0-9a-f]{64})$")]
GitMode = Literal["100644", "100755", "120000", "160000"]
Identifier = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
ReasonCode = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64)]
Words = Annotated[str, StringConstraints(min_length=1, max_length=20_000)]
Count = Annotated[int, Field(ge=0, le=LARGEST_INTEGER)]
Ordinal = Annotated[int, Field(ge=1, le=LARGEST_INTEGER)]
Whole = Annotated[int, Field(ge=-LARGEST_INTEGER, le=LARGEST_INTEGER)]
Number = Annotated[float, Field(ge=-LARGEST_INTEGER, le=LARGEST_INTEGER)]
Milliseconds = Annotated[int, Field(ge=0, le=LARGEST_INTEGER)]
UtcTime = Annotated[
    str,
    StringConstraints(
        # [0-9], for \d also takes the digits of other scripts
        pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{3})?Z$"
    ),
    AfterValidator(_on_the_calendar),
]
CalendarDate = Annotated[
    str,
    StringConstraints(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"),
    AfterValidator(_on_the_calendar),
]
Argv = Annotated[
    tuple[Annotated[str, StringConstraints(max_length=4096, pattern=r"^[^\x00]*$")], ...],
    Field(min_length=1, max_length=256),
]
EnvironmentName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,127}$")]


@dataclass(frozen=True)
class Broken:
    """One broken relation between fields: where, what stands there, and the rule."""

    location: tuple[int | str, ...]  # from the contract that has the rule
    found: object
    allowed: str


class RelationError(ValueError):
    """Fields that do not fit each other; raised by the validators of contracts."""

    def __init__(self, *broken: Broken) -> None:
        self.broken = broken
        super().__init__("; ".join(f"{one.found}, where {one.allowed}" for one in broken))


def repeated(place: tuple[str, ...], names: list[str]) -> list[Broken]:
    """Find names that stand twice.

    Args:
        place: The field of the list, then the field of an entry that holds the name, if any.
        names: The names in order.

    Returns:
        One broken relation for each entry whose name an earlier one has.
    """
    return [
        Broken((place[0], index, *place[1:]), name, "a name that no entry before it has")
        for index, name in enumerate(names)
        if name in names[:index]
    ]


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
        """Return the RFC 8785 bytes; digests are taken of these and of nothing else.

        Raises:
            InputError: Something that was built in memory and never read has no such form:
                an integer beyond 2^53 - 1 or a lone surrogate in foreign JSON.
        """
        try:
            return rfc8785.dumps(self.model_dump(mode="json", by_alias=True))
        except (rfc8785.CanonicalizationError, UnicodeError) as error:
            raise InputError(
                type(self).__name__,
                found=InWords(str(error)),
                allowed="integers up to 2^53 - 1 and text that is UTF-8",
                next_step="write such a value as text before it enters the contract",
            ) from error

    def canonical_sha256(self) -> str:
        """Return the SHA-256 of the canonical bytes as 64 lower-case hexadecimal digits."""
        return hashlib.sha256(self.canonical()).hexdigest()
