"""From the tables and a plan's vocabulary to rules that a scanner can look for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import product

import re2

from benchlib.contracts.paths import folded
from benchlib.prepare import patterns
from benchlib.prepare._scanner import Find, Rule
from benchlib.prepare.patterns import Term, TextRule
from benchlib.prepare.vocabulary import PlanId, Vocabulary

_BETWEEN_WORDS = (" ", "-", "_", "\n", "\r\n", "  ")
_LETTERS = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789")
_ID_BYTES = _LETTERS | frozenset(b"_-")


def awareness_rules(vocabulary: Vocabulary) -> Iterator[Rule]:
    """Return what gives the kit away on any surface."""
    yield Rule(
        "benchmark-awareness",
        patterns.KIT_NAME,
        patterns.WHY_AWARENESS,
        literals=(patterns.KIT_NAME.encode(),),
        accept=lambda _text, _start, _end: True,
    )
    for term in patterns.EVERYWHERE:
        yield Rule(
            "benchmark-awareness",
            term.words,
            patterns.WHY_AWARENESS,
            literals=tuple(_variants(term)),
            accept=_whole_word,
        )
    for plan_id in vocabulary.ids:
        if plan_id.is_distinctive:
            yield Rule(
                "benchmark-awareness",
                plan_id.id,
                why_own_id(plan_id),
                literals=(plan_id.id.encode(),),
                accept=_whole_id,
            )


def why_own_id(plan_id: PlanId) -> str:
    """Say why one of the plan's own ids is a finding, and what to do."""
    return patterns.WHY_OWN_ID.format(what=plan_id.what)


def leak_rules(vocabulary: Vocabulary) -> Iterator[Rule]:
    """Return the challenge's answer phrases."""
    for phrase in vocabulary.answer_phrases:
        if phrase.isascii():
            literal = max(phrase.split(), key=_rarity).lower().encode()
            yield Rule(
                "solution-leak",
                phrase,
                patterns.WHY_LEAK,
                literals=(literal,),
                find=_phrase(phrase, "(?i)"),
            )
        else:
            yield Rule(
                "solution-leak",
                phrase,
                patterns.WHY_LEAK,
                find_folded=_phrase(folded(phrase), ""),
            )


def _rarity(word: str) -> int:
    """Guess how rare a word is: the automaton stops at each one, so it should be a rare one."""
    return len(word) + 6 * any(not character.isalpha() for character in word)


def text_rules(*, with_notes: bool = True) -> Iterator[Rule]:
    """Return the patterns of texts: diffs, merges, keys, tokens."""
    for row in patterns.TEXT_RULES:
        if with_notes or not row.is_note:
            yield Rule(
                row.kind,
                row.name,
                row.why,
                literals=tuple(literal.encode() for literal in row.literals),
                find=_expression(row),
                only_in=row.only_in,
                is_note=row.is_note,
            )


def _variants(term: Term) -> Iterable[bytes]:
    """Spell a term's words with each separator; the automaton knows no alternatives."""
    words = re.split(r"[ _]", term.words)
    if len(words) == 1:
        return [words[0].encode()]
    return [
        "".join(part for pair in zip(words, [*between, ""], strict=True) for part in pair).encode()
        for between in product(_BETWEEN_WORDS, repeat=len(words) - 1)
    ]


def _whole_word(text: bytes, start: int, end: int) -> bool:
    """Accept a word that stands alone, in the plural too."""
    if start and text[start - 1] in _LETTERS:
        return False
    if text[end : end + 1] == b"s":
        end += 1
    return end == len(text) or text[end] not in _LETTERS


def _whole_id(text: bytes, start: int, end: int) -> bool:
    """Accept an id that is not part of a longer one."""
    return not (start and text[start - 1] in _ID_BYTES) and not (
        end < len(text) and text[end] in _ID_BYTES
    )


def _compiled(expression: str) -> Find:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1  # bytes as they are, also when no UTF-8
    options.log_errors = False
    search = re2.compile(expression.encode("utf-8"), options).search

    def find(text: bytes, _at_start: bool) -> int | None:
        match = search(text)
        return None if match is None else int(match.start(match.re.groups))

    return find


def _expression(row: TextRule) -> Find:
    if not row.only_at_start:
        return _compiled(row.expression)
    anchored = _compiled(rf"\A(?:\xef\xbb\xbf)?\s*({row.expression})")
    return lambda text, at_start: anchored(text, at_start) if at_start else None


def _phrase(phrase: str, flags: str) -> Find:
    """Match the words of a phrase with any white space between them, not inside longer words."""
    text = phrase.strip()
    words = r"\s+".join(re2.escape(word) for word in text.split())
    before = r"(?:\A|[^0-9A-Za-z])" if text[0].isalnum() else ""
    after = r"(?:\z|[^0-9A-Za-z])" if text[-1].isalnum() else ""
    return _compiled(f"{flags}{before}({words}){after}")
