"""Tokens and what they cost: whole numbers, and never a price that nobody gave."""

from __future__ import annotations

from typing import Annotated

from pydantic import StringConstraints

from benchlib.contracts.base import CalendarDate, Contract, Count, Version1


class Usage(Contract):
    """Tokens of one arm or response, each counted once."""

    input_tokens: Count = 0  # neither read from nor written to a cache
    cache_read_tokens: Count = 0
    cache_write_tokens: Count = 0
    output_tokens: Count = 0  # reasoning included
    reasoning_tokens: Count = 0  # a part of output_tokens
    requests: Count = 0

    def plus(self, other: Usage) -> Usage:
        """Return the sum, field by field."""
        names = type(self).model_fields
        return Usage(**{name: getattr(self, name) + getattr(other, name) for name in names})


UsdText = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,12}(\.[0-9]{1,9})?$")]

ExactUsd = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,24}(\.[0-9]{1,15})?$")]
"""A price per million tokens has nine decimals, so that what tokens cost has fifteen."""


class PriceTable(Contract):
    """Prices of one model on one date; an absent price is unknown, not zero."""

    schema_version: Version1 = 1
    model: str
    dated: CalendarDate
    input: UsdText | None  # USD per million tokens, as all of them
    output: UsdText | None
    cache_read: UsdText | None
    cache_write: UsdText | None


class Cost(Contract):
    """What the priced tokens cost, and which tokens have no price."""

    micro_usd: Count  # of the priced part, rounded up
    usd: ExactUsd  # the same, exact
    unpriced: tuple[str, ...]  # such as `cache_write: 600 tokens`; empty when all had a price

    @property
    def is_complete(self) -> bool:
        """Whether every token had a price."""
        return not self.unpriced

    @property
    def in_words(self) -> str:
        """The cost as it may be shown: `at least` marks an unpriced rest."""
        return (
            f"{self.usd} USD"
            if self.is_complete
            else f"at least {self.usd} USD (unpriced: {', '.join(self.unpriced)})"
        )
