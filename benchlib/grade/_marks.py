"""The mark that a memory leaves around each item that it delivers.

First line `<!-- memory channel=tool-pull item=n-0412 sha256=9f2c41d07be3 -->`, then the
text, last line `<!-- /memory item=n-0412 -->`. The digest is the first twelve
hexadecimal digits of the SHA-256 of the item's text, so a mark is checked against the
fixture and can't be made up by whoever does not know the text.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

_OPENING = re.compile(
    r"^<!-- memory channel=(?P<channel>[a-z-]{1,40}) item=(?P<item>\S{1,256})"
    r" sha256=(?P<sha256>[0-9a-f]{12}) -->[ \t]*\r?$",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Mark:
    """One marked stretch of a text."""

    channel: str
    item: str
    sha256_head: str
    body: str
    is_closed: bool  # False: the delivery was cut off
    start: int  # of the whole stretch, marks included
    end: int


def marks(text: str) -> Iterator[Mark]:
    """Yield the marked stretches of a text; a mark inside an item's own text is text."""
    position = 0
    while opening := _OPENING.search(text, position):
        closing = f"\n<!-- /memory item={opening['item']} -->"
        end = text.find(closing, opening.end())
        following = _OPENING.search(text, opening.end())
        if end < 0:  # it ends where the next item starts, or with the text
            position = stop = following.start() if following else len(text)
        else:
            stop, position = end, end + len(closing)
        yield Mark(
            channel=opening["channel"],
            item=opening["item"],
            sha256_head=opening["sha256"],
            body=text[opening.end() + 1 : stop].replace("\r\n", "\n"),
            is_closed=end >= 0,
            start=opening.start(),
            end=position,
        )


def without_marks(text: str, found: list[Mark]) -> str:
    """Return the text outside some marked stretches."""
    kept, position = [], 0
    for mark in found:
        kept.append(text[position : mark.start])
        position = mark.end
    return "\n".join([*kept, text[position:]])


def sha256_head(text: str) -> str:
    r"""Return the digest that a mark carries for an item of this text.

    Example:
        >>> sha256_head("Label width\n48 mm")
        'b8e2eaff187e'
    """
    return hashlib.sha256(text.encode()).hexdigest()[:12]
