"""Every error that a caller can act on, and the exit status that it becomes.

BenchlibError
  InputError      2  a file, field or argument is wrong (also a ValueError)
    VersionError  2  a contract version that this release cannot read
    DriftError    2  a pinned thing is not what was pinned
  RefusedError    1  a gate said no: certification, premise, fence, verification
  OutsideError    3  an engine, network, provider, kernel or provisioner failed

A message always names the place, what was found, what is allowed and what to do
next. The parts are attributes too, so that tests and ``--json`` parse no text.
"""

from __future__ import annotations

import re
import unicodedata
from typing import ClassVar

SHOWN_CHARACTERS = 200
"""A value that was found is shown up to this length."""

# Shapes of credentials that must not travel in a message: prefixes of API keys and tokens.
_SECRET = re.compile(r"\b(sk-|ghp_|gho_|xox[abp]-|AKIA|AIza|glpat-)[A-Za-z0-9_\-]{8,}")


def shown(value: object) -> str:
    r"""Return a value as a message may carry it.

    Args:
        value: Anything; text keeps its quotes, so that ``"4"`` and ``4`` differ.

    Returns:
        One line of at most ``SHOWN_CHARACTERS`` characters. Control, format and
        surrogate characters stand as escapes, strings shaped like credentials
        as ``<secret>``.

    Example:
        >>> shown("4\x1b[0m GB")
        "'4\\x1b[0m GB'"
    """
    text = _SECRET.sub("<secret>", value if isinstance(value, str) else repr(value))
    text = repr(text) if isinstance(value, str) else escaped(text)
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"


def escaped(text: str) -> str:
    r"""Return text in which nothing can disturb a terminal or hide from a reader.

    Example:
        >>> escaped("a\x1bb\u202ec")
        'a\\x1bb\\u202ec'
    """
    return "".join(
        character if unicodedata.category(character)[0] != "C" else ascii(character)[1:-1]
        for character in text
    )


class BenchlibError(Exception):
    """The root of the tree; raise one of its children.

    Args:
        place: The file, command or part in which something is wrong.
        field: The path to the field, such as ``arms[1].environment.cpus``; may be empty.
        found: What was there, as a value; cut and cleaned when shown.
        allowed: The rule that it broke, in words.
        next_step: What the person should do.
        also: Further findings of the same kind, so that one report holds all of them.
    """

    exit_status: ClassVar[int] = 3

    def __init__(
        self,
        place: str,
        field: str = "",
        *,
        found: object,
        allowed: str,
        next_step: str,
        also: tuple[BenchlibError, ...] = (),
    ) -> None:
        self.place = escaped(place)
        self.field = escaped(field)
        self.found = shown(found)
        self.allowed = escaped(allowed)
        self.next_step = escaped(next_step)
        self.also = also
        super().__init__(self.place, self.field, self.found, self.allowed, self.next_step)

    def __str__(self) -> str:
        head = f"{self.place}: {self.field}" if self.field else self.place
        own = (
            f"{head}\n  found    {self.found}\n  allowed  {self.allowed}\n"
            f"  next     {self.next_step}"
        )
        return "\n".join([own, *(str(error) for error in self.also)])

    def parts(self) -> list[dict[str, str]]:
        """Return all findings as plain data, for ``--json``."""
        own = {
            "error": type(self).__name__,
            "place": self.place,
            "field": self.field,
            "found": self.found,
            "allowed": self.allowed,
            "next": self.next_step,
        }
        return [own, *(part for error in self.also for part in error.parts())]


class InputError(BenchlibError, ValueError):
    """A file, field or argument is wrong; nothing was done."""

    exit_status = 2


class VersionError(InputError):
    """A contract of a version that this release cannot read."""


class DriftError(InputError):
    """A pinned thing is not what was pinned."""


class RefusedError(BenchlibError):
    """A gate looked and said no."""

    exit_status = 1


class OutsideError(BenchlibError):
    """Something that is not ours failed: an engine, a kernel, a provisioner, a network."""

    exit_status = 3
