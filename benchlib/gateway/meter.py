"""What tokens cost: exact decimals, and never a price that nobody gave."""

from __future__ import annotations

from decimal import ROUND_CEILING, Context, Decimal

from benchlib.contracts.usage import Cost, PriceTable, Usage
from benchlib.errors import InWords, RefusedError

_PER = Decimal(1_000_000)
_EXACT = Context(prec=60)


def cost(usage: Usage, prices: PriceTable) -> Cost:
    """Price the tokens of an arm.

    Args:
        usage: The tokens.
        prices: USD per million tokens.

    Returns:
        The cost of what has a price, and what has none by name and number.
    """
    total, unpriced = Decimal(0), []
    for name, tokens, price in (
        ("input", usage.input_tokens, prices.input),
        ("cache_read", usage.cache_read_tokens, prices.cache_read),
        ("cache_write", usage.cache_write_tokens, prices.cache_write),
        ("output", usage.output_tokens, prices.output),
    ):
        if price is not None:
            total = _EXACT.add(total, _EXACT.multiply(Decimal(price), Decimal(tokens)))
        elif tokens:
            unpriced.append(f"{name}: {tokens} tokens")
    return _cost(_EXACT.divide(total, _PER), tuple(unpriced))


def add(one: Cost, other: Cost) -> Cost:
    """Add two costs; what is unpriced in either stays named, its tokens added up.

    Args:
        one: A cost.
        other: Another one.

    Returns:
        The sum; it is complete only if both are.
    """
    unpriced: dict[str, int] = {}
    for entry in (*one.unpriced, *other.unpriced):
        name, _, tokens = entry.removesuffix(" tokens").rpartition(": ")
        unpriced[name] = unpriced.get(name, 0) + int(tokens)
    entries = tuple(f"{name}: {tokens} tokens" for name, tokens in unpriced.items())
    return _cost(_EXACT.add(Decimal(one.usd), Decimal(other.usd)), entries)


def require_priced(prices: PriceTable) -> None:
    """Refuse a price table that a money fence can't rest on.

    Raises:
        RefusedError: A price is absent; names each.
    """
    absent = [
        name
        for name in ("input", "output", "cache_read", "cache_write")
        if getattr(prices, name) is None
    ]
    if absent:
        raise RefusedError(
            f"prices of {prices.model}, {prices.dated}",
            found=InWords(f"no price for {', '.join(absent)}"),
            allowed="a price for each kind of token, for no price is not free",
            next_step="add the price, as a decimal text in USD per million tokens",
        )


def usage_differences(metered: Usage, told: Usage) -> tuple[str, ...]:
    """Say where an agent's own log differs from the meter, which decides.

    Args:
        metered: What the gateway measured.
        told: What the log of the same run says.

    Returns:
        One phrase for each field that differs.

    Example:
        >>> usage_differences(Usage(output_tokens=3), Usage(output_tokens=2))
        ('output_tokens: 3 metered, 2 in the log',)
    """
    return tuple(
        f"{name}: {getattr(metered, name)} metered, {getattr(told, name)} in the log"
        for name in Usage.model_fields
        if getattr(metered, name) != getattr(told, name)
    )


def _cost(usd: Decimal, unpriced: tuple[str, ...]) -> Cost:
    micro = _EXACT.multiply(usd, _PER).to_integral_value(ROUND_CEILING)
    text = format(usd.normalize(_EXACT), "f")
    return Cost(micro_usd=int(micro), usd=text, unpriced=unpriced)
