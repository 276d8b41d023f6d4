"""The one rule by which a number is shown.

Fixed decimals. Estimates round half to even; lower limits round down, upper limits and
p-values up: a printed interval never covers less, and a printed p never promises more,
than what was computed. ``inf`` stands for no bound.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import SupportsIndex

from benchlib.stats._numbers import Number, choice, probability, rational, whole

KINDS = ("estimate", "lower", "upper", "p")
"""What a number can be; it decides the direction in which it is rounded."""

_UNBOUNDED = {"inf": "inf", "+inf": "inf", "-inf": "-inf"}


def print_value(value: Number, digits: SupportsIndex = 4, *, kind: str = "estimate") -> str:
    """Return a number as readers see it.

    Args:
        value: A number, or its text; ``inf`` and ``-inf`` for no bound, except as a p.
        digits: Decimals, 0 to 100.
        kind: ``estimate``, ``lower``, ``upper`` or ``p``.

    Returns:
        The number with exactly that many decimals. Zero carries no sign.

    Raises:
        InputError: ``value`` is no number, or a p outside 0 to 1; ``digits`` or ``kind``
            is not allowed.

    Example:
        >>> print_value("0.05001", kind="p"), print_value("-0.12341", kind="lower")
        ('0.0501', '-0.1235')
        >>> print_value(float("inf"), kind="upper")
        'inf'
    """
    place = "print_value"
    choice(place, "kind", kind, KINDS)
    places = whole(place, "digits", digits, most=100)
    unbounded = _UNBOUNDED.get(_spelled(value))
    if unbounded is not None and kind != "p":
        return unbounded
    read = probability if kind == "p" else rational
    scaled = read(place, "value", value) * 10**places
    return _fixed(_rounded(scaled, kind), places)


def _spelled(value: Number) -> str:
    return repr(value) if isinstance(value, float) else value if isinstance(value, str) else ""


def _rounded(scaled: Fraction, kind: str) -> int:
    if kind == "estimate":
        return round(scaled)  # half to even, for a fraction
    return math.floor(scaled) if kind == "lower" else math.ceil(scaled)


def _fixed(scaled: int, places: int) -> str:
    sign = "-" if scaled < 0 else ""
    digits = str(abs(scaled)).zfill(places + 1)
    return f"{sign}{digits[:-places]}.{digits[-places:]}" if places else sign + digits
