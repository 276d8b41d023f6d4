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
from collections.abc import Mapping
from typing import ClassVar

SHOWN_CHARACTERS = 200
"""A value that was found is shown up to this length."""

_READ_CHARACTERS = 64 * SHOWN_CHARACTERS  # more is never shown, even where all of it shrinks

_SECRETS: Mapping[str, str] = {
    r"\bsk-[A-Za-z0-9_\-]{8,}": "API keys of model providers",
    r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{8,}": "API keys of a payment service",
    r"\bgh[oprsu]_[A-Za-z0-9]{8,}": "tokens of a code host: OAuth, personal, server, user",
    r"\bgithub_pat_[A-Za-z0-9_]{8,}": "fine-grained personal tokens of the same host",
    r"\bglpat-[A-Za-z0-9_\-]{8,}": "personal tokens of another code host",
    r"\bxox[a-z]-[A-Za-z0-9\-]{8,}": "tokens of a chat service",
    r"\b(?:AKIA|ASIA)[A-Z0-9]{8,}": "access key ids of a cloud, lasting and temporary",
    r"\bAIza[A-Za-z0-9_\-]{8,}": "API keys of another cloud",
    r"\bhf_[A-Za-z0-9]{8,}": "tokens of a model hub",
    r"\bnpm_[A-Za-z0-9]{8,}|\bpypi-[A-Za-z0-9_\-]{8,}": "upload tokens of package registries",
    r"\beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}(?:\.[A-Za-z0-9_\-]*)?": "JSON web tokens",
    r"(?i:\bbearer) +(?=\S*\d)[A-Za-z0-9._~+/\-]{8,}=*": "what an Authorization header carries",
    r"(?<=://)[^/\s:@]*:[^/\s@]+(?=@)": "user and password inside a URL",
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]*-----)?": "private keys in PEM",
}
"""Shapes of credentials that must not travel in a message, each with what it is."""

_SECRET = re.compile("|".join(_SECRETS))


class InWords(str):
    """What was found, told in words: a message shows it without quotes.

    Example:
        >>> shown("no file"), shown(InWords("no file"))
        ("'no file'", 'no file')
    """

    __slots__ = ()


def shown(value: object) -> str:
    r"""Return a value as a message may carry it.

    Args:
        value: Anything; text keeps its quotes, so that ``"4"`` and ``4`` differ,
            unless it is ``InWords``.

    Returns:
        One line of at most ``SHOWN_CHARACTERS`` characters. Control, format and
        surrogate characters stand as escapes, strings shaped like credentials
        as ``<secret>``.

    Example:
        >>> shown("4\x1b[0m GB")
        "'4\\x1b[0m GB'"
    """
    text = value if isinstance(value, str) else repr(value)
    text = _SECRET.sub("<secret>", text[:_READ_CHARACTERS])
    is_quoted = isinstance(value, str) and not isinstance(value, InWords)
    text = repr(text) if is_quoted else escaped(text)
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"


def escaped(text: str) -> str:
    r"""Return text in which nothing can disturb a terminal, break a line or hide from a reader.

    Example:
        >>> escaped("a\x1bb\u202ec")
        'a\\x1bb\\u202ec'
    """
    return "".join(
        ascii(character)[1:-1] if _is_unseen(character) else character for character in text
    )


def _is_unseen(character: str) -> bool:
    category = unicodedata.category(character)
    return category[0] == "C" or category in {"Zl", "Zp"}


def _told(text: str) -> str:
    return escaped(_SECRET.sub("<secret>", text))


class BenchlibError(Exception):
    """The root of the tree; raise one of its children.

    Args:
        place: The file, command or part in which something is wrong.
        field: The path to the field, such as ``arms[1].environment.cpus``; may be empty.
        found: What was there, as a value or ``InWords``; cut and cleaned when shown.
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
        self.place = _told(place)
        self.field = _told(field)
        self.found: str = InWords(shown(found))  # another error may take it over as it is
        self.allowed = _told(allowed)
        self.next_step = _told(next_step)
        self.also = also
        super().__init__(self.place, self.field, self.found, self.allowed, self.next_step)

    def __reduce__(self) -> tuple[object, ...]:
        """Let an error cross to another process: its arguments have names, which pickle forgets."""
        return _revived, (type(self), self.args, dict(self.__dict__))

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


def _revived(
    kind: type[BenchlibError], arguments: tuple[str, ...], parts: dict[str, object]
) -> BenchlibError:
    error = kind.__new__(kind, *arguments)
    error.__dict__.update(parts)
    return error


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
