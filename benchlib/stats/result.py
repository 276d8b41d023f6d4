"""The record that every procedure returns: frozen, comparable, with its own bytes.

A result carries the inputs that it was computed from, as exact values: calling the
procedure that it names with them gives an equal result. ``canonical_json`` gives the same
bytes on every machine: keys in order, fractions and floats as text, no white space.
How a value is shown to a reader is ``print_value``'s business.
"""

from __future__ import annotations

import dataclasses
import json
from fractions import Fraction

Input = int | Fraction | str | bool | None | tuple["Input", ...]
"""An argument as a result keeps it."""

Limit = Fraction | float
"""An estimate or a limit: a fraction where it is rational, else a float; may be infinite."""

Plain = int | str | bool | None | list["Plain"] | dict[str, "Plain"]
"""What canonical JSON is made of."""

# Python refuses to print whole numbers of more than 4,300 digits in one step.
_DIGITS_AT_ONCE = 4000


@dataclasses.dataclass(frozen=True, kw_only=True)
class Result:
    """What one procedure found; a field that does not apply is ``None``.

    ``n`` counts the units of the procedure (attempts, pairs, questions), ``gained`` and
    ``lost`` the discordant pairs that only the treatment or only the control arm passed.
    """

    procedure: str
    inputs: tuple[tuple[str, Input], ...]
    reading: str  # one sentence for people
    n: int
    method: str
    estimate: Limit | None = None
    lower: Limit | None = None
    upper: Limit | None = None
    level: Fraction | None = None
    p: Limit | None = None
    least_p: Fraction | None = None  # the smallest p that this n can give, whatever happens
    alternative: str | None = None
    convention: str | None = None  # of the two-sided p
    gained: int | None = None
    lost: int | None = None
    note: str = ""

    def canonical_json(self) -> str:
        """Return the result as text that has one form only."""
        return canonical_json(self)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExactTest(Result):
    """A test whose p is a ratio of whole numbers."""

    p: Fraction
    least_p: Fraction
    alternative: str
    convention: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Interval(Result):
    """An estimate between two limits at a confidence level."""

    lower: Limit
    upper: Limit
    level: Fraction


def canonical_json(record: object) -> str:
    """Return a frozen record of this part as canonical text.

    Args:
        record: A dataclass of numbers, texts, tuples and further dataclasses.

    Returns:
        JSON with sorted keys and no white space. Whole numbers stay numbers; a fraction
        is the text ``"p/q"`` and a float its shortest decimal text, for a reader in
        another language would round them.
    """
    return json.dumps(_plain(record), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _plain(value: object) -> Plain:
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < 1 << 53 else _digits(value)
    if isinstance(value, Fraction):
        return exact_text(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if dataclasses.is_dataclass(value):
        fields = dataclasses.fields(value)
        return {field.name: _plain(getattr(value, field.name)) for field in fields}
    raise TypeError(type(value).__name__)  # a field of a type that this part doesn't use


def exact_text(value: Fraction) -> str:
    """Return a fraction as text, however long.

    Example:
        >>> exact_text(Fraction(67, 1024)), exact_text(Fraction(3))
        ('67/1024', '3')
    """
    if value.denominator == 1:
        return _digits(value.numerator)
    return f"{_digits(value.numerator)}/{_digits(value.denominator)}"


def _digits(value: int) -> str:
    if value < 0:
        return "-" + _digits(-value)
    base = 10**_DIGITS_AT_ONCE
    if value < base:
        return str(value)
    head, tail = divmod(value, base)
    return _digits(head) + str(tail).zfill(_DIGITS_AT_ONCE)
