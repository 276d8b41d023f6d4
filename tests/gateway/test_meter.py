from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlib.contracts.usage import PriceTable, Usage
from benchlib.errors import RefusedError
from benchlib.gateway import add, cost, require_priced


def _case(repository: Path) -> tuple[Usage, PriceTable]:
    folder = repository / "tests/cases/apparatus"
    tokens = json.loads((folder / "usage_unpriced.json").read_text())
    prices = json.loads((folder / "prices.json").read_text())
    usage = Usage(
        input_tokens=tokens["input_tokens"],
        output_tokens=tokens["output_tokens"],
        cache_read_tokens=tokens["cache_read_input_tokens"],
        cache_write_tokens=tokens["cache_creation_input_tokens"],
    )
    table = PriceTable(
        model=prices["model"],
        dated="2026-01-01",
        input=prices["input"],
        output=prices["output"],
        cache_read=prices["cache_read"],
        cache_write=None,
    )
    return usage, table


def test_case_10_no_price_is_not_free(repository: Path) -> None:
    priced = cost(*_case(repository))
    assert priced.usd == "0.004155"
    assert priced.unpriced == ("cache_write: 600 tokens",)
    assert not priced.is_complete
    assert priced.in_words.startswith("at least 0.004155")


def test_a_fence_that_needs_a_cost_refuses_an_absent_price(repository: Path) -> None:
    with pytest.raises(RefusedError) as caught:
        require_priced(_case(repository)[1])
    assert "cache_write" in caught.value.found


def test_adding_attempts_keeps_the_mark(repository: Path) -> None:
    one = cost(*_case(repository))
    total = add(one, cost(Usage(), _case(repository)[1]))
    assert total.usd == "0.004155"
    assert not total.is_complete
    twice = add(total, one)
    assert (twice.usd, twice.unpriced) == ("0.00831", ("cache_write: 1200 tokens",))


@given(tokens=st.integers(0, 2**40), price=st.decimals("0", "999", places=6))
def test_a_cost_is_exact_and_its_micro_dollars_never_too_few(tokens: int, price: Decimal) -> None:
    table = PriceTable(
        model="m",
        dated="2026-01-01",
        input=f"{price:f}",
        output=None,
        cache_read=None,
        cache_write=None,
    )
    priced = cost(Usage(input_tokens=tokens), table)
    assert Decimal(priced.usd) * 10**6 == Decimal(tokens) * price
    assert 0 <= priced.micro_usd - Decimal(priced.usd) * 10**6 < 1
