"""Files in, what stands in them out: many small ones at a time, a large one in windows.

One search serves a batch of files; it and the digests run on other threads while the next
batch is read. Two buffers are all the memory that it takes, however large the tree is.
"""

from __future__ import annotations

import codecs
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, NamedTuple, TypeVar

from benchlib.prepare._scanner import Scanner, Seen, Span

BATCH_BYTES = 1 << 20
"""A batch holds as many files as fit; a file that does not fit is read in windows of this size."""

OVERLAP_BYTES = 1 << 16
"""A match that is longer than this may be missed where two windows of a large file meet."""

_KeyT = TypeVar("_KeyT")


class _Batch(Generic[_KeyT]):
    """Files side by side in one buffer."""

    def __init__(self) -> None:
        self.buffer = bytearray(BATCH_BYTES)
        self.view = memoryview(self.buffer)
        self.clear()

    def clear(self) -> None:
        self.keys: list[tuple[_KeyT, int | None]] = []  # and the number of its span
        self.spans: list[Span] = []
        self.modes: list[int] = []
        self.end = 0

    def take(self, key: _KeyT, handle: int, name: str) -> bool:
        """Read a file behind the others; False if it does not fit, or is not plain text."""
        start = self.end
        size = os.readv(handle, [self.view[start:]]) if start < BATCH_BYTES else 0
        if start + size >= BATCH_BYTES or self.buffer.startswith(_UTF16_MARKS, start):
            return False
        self.keys.append((key, len(self.spans)))
        self.spans.append(Span(start, start + size, name))
        self.modes.append(os.fstat(handle).st_mode)
        self.end = start + size + 1
        self.buffer[start + size] = 0  # no literal crosses it
        return True

    def digests(self) -> list[str]:
        return [hashlib.sha256(self.view[span.start : span.end]).hexdigest() for span in self.spans]


class _Running(NamedTuple, Generic[_KeyT]):
    batch: _Batch[_KeyT]
    digests: Future[list[str]]
    may_hit: Future[bool]
    scanner: Scanner

    def seen(self) -> Iterator[tuple[_KeyT, Seen | None]]:
        """Yield what was seen of each file, in order."""
        spans, modes = self.batch.spans, self.batch.modes
        hits: dict[int, dict[int, int]] = {}
        if self.may_hit.result():
            hits = self.scanner.spans(bytes(self.batch.view[: self.batch.end]), spans)
        digests = self.digests.result()
        for key, number in self.batch.keys:
            if number is None:
                yield key, None
                continue
            start, end, _ = spans[number]
            yield key, Seen(digests[number], end - start, modes[number], hits.get(number, {}))


def read_all(
    files: Iterable[tuple[_KeyT, str | None, str]], scanner: Scanner
) -> Iterator[tuple[_KeyT, Seen | None]]:
    """Read regular files, in order; none is followed if it turns out to be a link.

    Args:
        files: Key, location and basename of each; without a location it is only passed on.
        scanner: What to look for.

    Yields:
        Key and what was seen, in the same order.

    Raises:
        OSError: One can't be read.
    """
    with ThreadPoolExecutor(2) as pool:
        filling: _Batch[_KeyT] = _Batch()
        spare: _Batch[_KeyT] = _Batch()
        running: _Running[_KeyT] | None = None
        for key, location, name in files:
            if location is None:
                filling.keys.append((key, None))
                continue
            handle = os.open(location, _OPEN)
            try:
                if filling.take(key, handle, name):
                    continue
                started = _start(filling, scanner, pool)
                if running is not None:
                    yield from running.seen()
                running, filling, spare = started, spare, filling
                filling.clear()
                os.lseek(handle, 0, os.SEEK_SET)
                if filling.take(key, handle, name):
                    continue
                yield from running.seen()
                running = None
                os.lseek(handle, 0, os.SEEK_SET)
                yield key, _read_in_windows(handle, name, scanner)
            finally:
                os.close(handle)
        if running is not None:
            yield from running.seen()
        yield from _start(filling, scanner, pool).seen()


def read_one(location: str, name: str, scanner: Scanner) -> Seen:
    """Read one regular file."""
    return next(seen for _, seen in read_all([(None, location, name)], scanner) if seen)


def _start(batch: _Batch[_KeyT], scanner: Scanner, pool: ThreadPoolExecutor) -> _Running[_KeyT]:
    """Have a batch digested and searched on other threads; neither holds the interpreter."""
    return _Running(
        batch,
        pool.submit(batch.digests),
        pool.submit(scanner.may_hit, batch.view[: batch.end], batch.spans),
        scanner,
    )


def _read_in_windows(handle: int, name: str, scanner: Scanner) -> Seen:
    """Read a file in windows that overlap; UTF-16 text is looked at as UTF-8."""
    digest, total, line = hashlib.sha256(), 0, 1
    hits: dict[int, int] = {}
    window = b""
    decode: Callable[[bytes], bytes] = bytes
    while chunk := os.read(handle, BATCH_BYTES):
        if total == 0:
            decode = _decoder(chunk)
        digest.update(chunk)
        total += len(chunk)
        kept = window[-OVERLAP_BYTES:]
        line += window.count(b"\n", 0, len(window) - len(kept))
        window = kept + decode(chunk)
        span = Span(0, len(window), name)
        seen = scanner.spans(window, [span], at_start=total == len(chunk))
        for rule, at in seen.get(0, {}).items():
            hits.setdefault(rule, line + at - 1)
    return Seen(digest.hexdigest(), total, os.fstat(handle).st_mode, hits)


_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def _decoder(head: bytes) -> Callable[[bytes], bytes]:
    if not head.startswith(_UTF16_MARKS):
        return bytes
    decoder = codecs.getincrementaldecoder("utf-16")("replace")
    return lambda chunk: decoder.decode(chunk).encode("utf-8", "replace")
