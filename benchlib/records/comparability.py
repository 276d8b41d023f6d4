"""What may stand on one line: results that share every part of their key.

The build under test is what a line runs over, so it is not in the key. A note
that discloses a difference does not make two results comparable.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchlib.contracts.pair import ComparabilityKey, PairReceipt
from benchlib.errors import RefusedError


def key_differences(one: ComparabilityKey, other: ComparabilityKey) -> tuple[str, ...]:
    """Name the fields in which two keys differ, each with both values.

    Returns:
        Sentences such as ``verifier_sha256: 'b1…' here, 'b2…' there``; empty for one key.
    """
    return tuple(
        f"{name}: {left!r} here, {right!r} there"
        for name in ComparabilityKey.model_fields
        if (left := getattr(one, name)) != (right := getattr(other, name))
    )


def require_one_key(receipts: Sequence[PairReceipt]) -> ComparabilityKey:
    """Return the one key of results that are to stand on one line.

    Args:
        receipts: One or more.

    Raises:
        RefusedError: Two of them do not compare; names the pairs, the field and both values.
    """
    first = receipts[0]
    for receipt in receipts[1:]:
        differences = key_differences(first.key, receipt.key)
        if differences:
            raise RefusedError(
                f"{first.pair} {first.attempt} and {receipt.pair} {receipt.attempt}",
                differences[0].split(":", 1)[0],
                found="; ".join(differences),
                allowed="results that share every part of their comparability key",
                next_step="show them as two lines, each with its own key",
            )
    return first.key
