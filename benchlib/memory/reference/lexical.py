"""``lexical-hash-1``: texts as integer vectors, alike on every machine.

Words and the character 3- and 4-grams of longer words are hashed into 512 buckets with a
sign. Texts that share words or parts of words are near; synonyms are not. Nothing is
loaded, learnt or rounded.
"""

from __future__ import annotations

import re
import struct
import unicodedata
from collections.abc import Iterator, Sequence
from math import isqrt
from zlib import crc32

NAME = "lexical-hash-1"
DIMENSIONS = 512
_WORD = re.compile(r"[^\W_]+")
_LONG = 4  # shorter words carry little: a quarter of the weight, no grams
_LARGEST = 32_767
_PACKED = struct.Struct(f"<{DIMENSIONS}h")
_LEAST_SIMILARITY_PPM = 100_000  # of unrelated texts, by chance, one in a hundred reaches it


def words(text: str) -> list[str]:
    """Return the words of a text, as they are compared.

    Example:
        >>> words("The QUARTZITE-heron")
        ['the', 'quartzite', 'heron']
    """
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def embed(text: str) -> list[int]:
    """Return the vector of a text."""
    vector = [0] * DIMENSIONS
    for feature, weight in _features(text):
        number = crc32(feature.encode())
        vector[number % DIMENSIONS] += weight if number & 0x10000 else -weight
    return [max(-_LARGEST, min(_LARGEST, value)) for value in vector]


def pack(vector: Sequence[int]) -> bytes:
    """Return the bytes in which a vector is stored."""
    return _PACKED.pack(*vector)


class Query:
    """A text that others are compared with.

    Args:
        text: The question.
    """

    def __init__(self, text: str) -> None:
        vector = embed(text)
        self._features = {feature for feature, _ in _features(text)}
        self._parts = [(place, value) for place, value in enumerate(vector) if value]
        self._norm = sum(value * value for _, value in self._parts)

    def similarity_ppm(self, packed: bytes) -> int:
        """Return the cosine in millionths, rounded down; 0 for what is near by chance only."""
        vector = _PACKED.unpack(packed)
        product = sum(value * vector[place] for place, value in self._parts)
        if product <= 0:
            return 0
        norms = self._norm * sum(value * value for value in vector)
        cosine = isqrt(product * product * 10**12 // norms)
        return cosine if cosine >= _LEAST_SIMILARITY_PPM else 0

    def shares_a_part(self, text: str) -> bool:
        """Tell likeness from parts of words that fell into one bucket by chance."""
        return any(feature in self._features for feature, _ in _features(text))


def _features(text: str) -> Iterator[tuple[str, int]]:
    for word in words(text):
        if len(word) < _LONG:
            yield f"w {word}", 1
            continue
        yield f"w {word}", 4
        padded = f"^{word}$"
        for size in (3, 4):
            for start in range(len(padded) - size + 1):
                yield f"g {padded[start : start + size]}", 1
