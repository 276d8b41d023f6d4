"""One pass over a text for everything that certification looks for in it.

Literals of all rules are found together by an Aho-Corasick automaton in the lower-cased
bytes; only where one stands does its rule look closer. A file is read in windows, so
memory does not grow with it.

What is not seen: text that is compressed, encoded (base64, JSON or HTML escapes in a
source file) or split by comment signs at a line's end.
"""

from __future__ import annotations

import codecs
import hashlib
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import ahocorasick_rs

from benchlib.contracts.fixture import FindingKind
from benchlib.contracts.paths import folded

WINDOW_BYTES = 1 << 20
OVERLAP_BYTES = 1 << 16
"""A match that is longer than this may be missed where two windows of a large file meet."""

Accept = Callable[[bytes, int, int], bool]
"""Lower-cased text, start and end of a literal in it: is this a match?"""

Find = Callable[[bytes, bool], int | None]
"""Text, and whether it is the file's beginning: the place of the first match."""


@dataclass(frozen=True)
class Rule:
    """One thing to look for, as the scanner sees it."""

    kind: FindingKind
    pattern: str  # as a finding shows it
    why: str
    literals: tuple[bytes, ...] = ()  # lower case; one of them must stand in the text
    accept: Accept | None = None
    find: Find | None = None  # instead of `accept`
    find_folded: Find | None = None  # instead of both: in the case-folded text, encoded again
    only_in: tuple[str, ...] = ()  # basenames; empty for all files
    is_note: bool = False


class Seen(NamedTuple):
    """What was read of one file."""

    sha256: str
    size_bytes: int
    mode_bits: int
    hits: Mapping[int, int]  # rule -> line, from 1


class Scanner:
    """Rules, ready to be looked for. One thread at a time: the buffer is shared.

    Args:
        rules: All of them; hits name them by index.
    """

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = tuple(rules)
        owners: dict[bytes, list[int]] = {}
        self._by_name: dict[str, list[int]] = {}
        for index, rule in enumerate(self.rules):
            for name in rule.only_in:
                self._by_name.setdefault(name, []).append(index)
            for literal in () if rule.only_in else rule.literals:
                owners.setdefault(literal, []).append(index)
        self._owners = list(owners.values())
        self._automaton = ahocorasick_rs.BytesAhoCorasick(
            list(owners), implementation=ahocorasick_rs.Implementation.DFA
        )
        self._folded = [i for i, rule in enumerate(self.rules) if rule.find_folded is not None]
        self._buffer = bytearray(WINDOW_BYTES)

    def text(self, text: str) -> dict[int, int]:
        """Return the hits in a text that is at hand: rule -> line."""
        data = text.encode("utf-8", "surrogateescape")
        return {rule: data.count(b"\n", 0, at) + 1 for rule, at in self._places(data).items()}

    def file(self, location: str, name: str) -> Seen:
        """Read a regular file once: its digest, size, mode and hits.

        Args:
            location: Where it is; a link is not followed.
            name: Its basename.

        Raises:
            OSError: It can't be read.
        """
        handle = os.open(location, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            mode_bits = os.fstat(handle).st_mode
            size = os.readv(handle, [self._buffer])
            data = bytes(memoryview(self._buffer)[:size])
            if size == WINDOW_BYTES or data.startswith(_UTF16_MARKS):
                return self._windows(handle, data, name, mode_bits)
        finally:
            os.close(handle)
        places = self._places(data, name)
        lines = {rule: data.count(b"\n", 0, at) + 1 for rule, at in places.items()}
        return Seen(hashlib.sha256(data).hexdigest(), size, mode_bits, lines)

    def _windows(self, handle: int, chunk: bytes, name: str, mode_bits: int) -> Seen:
        """Read on in windows that overlap; UTF-16 text is looked at as UTF-8."""
        digest, total, line = hashlib.sha256(), 0, 1
        decode = _decoder(chunk)
        hits: dict[int, int] = {}
        window = b""
        while chunk:
            digest.update(chunk)
            total += len(chunk)
            kept = window[-OVERLAP_BYTES:]
            line += window.count(b"\n", 0, len(window) - len(kept))
            window = kept + decode(chunk)
            for rule, at in self._places(window, name, at_start=total == len(chunk)).items():
                hits.setdefault(rule, line + window.count(b"\n", 0, at))
            chunk = os.read(handle, WINDOW_BYTES)
        return Seen(digest.hexdigest(), total, mode_bits, hits)

    def _places(self, data: bytes, name: str = "", *, at_start: bool = True) -> dict[int, int]:
        """Return where each rule matches first."""
        places: dict[int, int] = {}
        lowered = data.lower()
        matches = self._automaton.find_matches_as_indexes(lowered, overlapping=True)
        if matches:
            self._look_closer(matches, data, lowered, places, at_start=at_start)
        for index in self._by_name.get(name, ()):
            _look(self.rules[index].find, data, index, places, at_start=at_start)
        if self._folded and not data.isascii():
            text = folded(data.decode("utf-8", "replace")).encode()
            for index in self._folded:
                _look(self.rules[index].find_folded, text, index, places, at_start=at_start)
        return places

    def _look_closer(
        self,
        matches: list[tuple[int, int, int]],
        data: bytes,
        lowered: bytes,
        places: dict[int, int],
        *,
        at_start: bool,
    ) -> None:
        looked: set[int] = set()
        for literal, start, end in matches:
            for index in self._owners[literal]:
                rule = self.rules[index]
                if index in places or index in looked:
                    continue
                if rule.accept is None:
                    looked.add(index)
                    _look(rule.find, data, index, places, at_start=at_start)
                elif rule.accept(lowered, start, end):
                    places[index] = start


def _look(
    find: Find | None, data: bytes, index: int, places: dict[int, int], *, at_start: bool
) -> None:
    at = find(data, at_start) if find is not None else None
    if at is not None:
        places[index] = at


_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def _decoder(head: bytes) -> Callable[[bytes], bytes]:
    if not head.startswith(_UTF16_MARKS):
        return bytes
    decoder = codecs.getincrementaldecoder("utf-16")("replace")
    return lambda chunk: decoder.decode(chunk).encode("utf-8", "replace")
