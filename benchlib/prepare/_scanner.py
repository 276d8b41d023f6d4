"""One pass over a text for everything that certification looks for in it.

One expression asks first whether any literal of any rule stands in a text at all: in most
none does. Else an Aho-Corasick automaton finds each of them in the lower-cased bytes, and
only where one stands does its rule look closer.

What is not seen: text that is compressed, encoded (base64, JSON or HTML escapes in a
source file) or split by comment signs at a line's end.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import ahocorasick_rs
import re2

from benchlib.contracts.fixture import FindingKind
from benchlib.contracts.paths import folded

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


class Span(NamedTuple):
    """One file's text among others in a buffer."""

    start: int
    end: int
    name: str  # the basename


class Seen(NamedTuple):
    """What was read of one file."""

    sha256: str
    size_bytes: int
    mode_bits: int
    hits: Mapping[int, int]  # rule -> line, from 1


_NOTHING: Mapping[int, int] = {}


class Scanner:
    """Rules, ready to be looked for.

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
        self._any_literal = _any_of(list(owners))
        self._folded = [i for i, rule in enumerate(self.rules) if rule.find_folded is not None]

    def text(self, text: str, name: str = "") -> Mapping[int, int]:
        """Return the hits in a text that is at hand: rule -> line."""
        data = text.encode("utf-8", "surrogateescape")
        return self.spans(data, [Span(0, len(data), name)]).get(0, _NOTHING)

    def spans(
        self, data: bytes, spans: Sequence[Span], *, at_start: bool = True
    ) -> dict[int, dict[int, int]]:
        """Look at many texts at once.

        Args:
            data: The texts, each followed by a NUL or the end: no literal crosses it.
            spans: Where each one stands, in order.
            at_start: Whether each span is a file's beginning.

        Returns:
            For each span in which something was seen: rule -> line.
        """
        places: dict[int, dict[int, int]] = {}
        if not self.may_hit(data, spans):
            return {}
        self._look_closer(data, spans, places, at_start=at_start)
        for number, span in enumerate(spans):
            self._look_at_whole(data, span, places, number, at_start=at_start)
        return {
            number: {
                rule: data.count(b"\n", spans[number].start, spans[number].start + at) + 1
                for rule, at in found.items()
            }
            for number, found in places.items()
            if found
        }

    def may_hit(self, data: bytes | memoryview, spans: Sequence[Span]) -> bool:
        """Tell whether it is worth looking closer; other threads run meanwhile."""
        return (
            self._any_literal(data)
            or any(span.name in self._by_name for span in spans)
            or bool(self._folded and not bytes(data).isascii())
        )

    def _look_closer(
        self,
        data: bytes,
        spans: Sequence[Span],
        places: dict[int, dict[int, int]],
        *,
        at_start: bool,
    ) -> None:
        """Ask each literal's rule whether it matches there; once a rule and span is enough."""
        lowered = data.lower()
        matches = self._automaton.find_matches_as_indexes(lowered, overlapping=True)
        starts = [span.start for span in spans]
        looked: set[tuple[int, int]] = set()
        for literal, start, end in matches:
            number = bisect_right(starts, start) - 1
            span = spans[number]
            for index in self._owners[literal]:
                if (number, index) in looked:
                    continue
                rule = self.rules[index]
                if rule.accept is None:
                    looked.add((number, index))
                    at = rule.find(data[span.start : span.end], at_start) if rule.find else None
                elif rule.accept(lowered, start, end):
                    looked.add((number, index))
                    at = start - span.start
                else:
                    at = None
                if at is not None:
                    places.setdefault(number, {})[index] = at

    def _look_at_whole(
        self,
        data: bytes,
        span: Span,
        places: dict[int, dict[int, int]],
        number: int,
        *,
        at_start: bool,
    ) -> None:
        """Look for what has no literal: rules of one file name, phrases that need folding."""
        for index in self._by_name.get(span.name, ()):
            find = self.rules[index].find
            at = find(data[span.start : span.end], at_start) if find else None
            if at is not None:
                places.setdefault(number, {})[index] = at
        if not self._folded:
            return
        raw = data[span.start : span.end]
        if raw.isascii():
            return
        text = folded(raw.decode("utf-8", "replace"))
        for index in self._folded:
            find = self.rules[index].find_folded
            at = find(text.encode(), at_start) if find else None
            if at is not None:
                places.setdefault(number, {})[index] = _same_line(raw, text.encode(), at)


def _any_of(literals: list[bytes]) -> Callable[[bytes | memoryview], bool]:
    """Ask for all literals at once, whatever their case; faster than lower-casing the text."""
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.case_sensitive = False
    options.never_capture = True
    options.log_errors = False
    search = re2.compile(b"|".join(re2.escape(one) for one in literals), options).search
    return lambda data: search(data) is not None


def _same_line(raw: bytes, text: bytes, at: int) -> int:
    """Return a place in the text as it was on the line of a place in the folded text."""
    lines = text.count(b"\n", 0, at)
    place = 0
    for _ in range(lines):
        place = raw.index(b"\n", place) + 1
    return place
