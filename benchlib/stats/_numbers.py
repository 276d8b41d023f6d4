"""Numbers at the door: what an argument may be, and how its refusal is worded.

Counts are whole numbers, or values whose ``__index__`` works (numpy, pandas). Measured
values and probabilities become fractions; a float is read as its shortest decimal text,
so that 0.1 means one tenth, as in the receipt, and not its binary neighbour. What is no
number is refused by the name of the argument and its position. Inside, nothing is
checked again.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import NoReturn, SupportsIndex, TypeVar

from benchlib.errors import InputError

_T = TypeVar("_T")

Number = int | Fraction | Decimal | str | float
"""What a measured value or a probability may be given as."""

# Exponents of four digits would let ten characters ask for gigabytes of digits.
_TEXT = re.compile(
    r"[+-]?(?:\d{1,1000}/\d{1,1000}|(?:\d{1,1000}(?:\.\d{0,1000})?|\.\d{1,1000})(?:[eE][+-]?\d{1,3})?)",
    re.ASCII,
)
_LARGEST_EXPONENT = 999


def refuse(place: str, name: str, found: object, allowed: str, next_step: str = "") -> NoReturn:
    """Raise the one error of this part.

    Args:
        place: The procedure.
        name: The argument, with the position where it is a list.
        found: What was given.
        allowed: The rule.
        next_step: What to do; by default, to correct the argument.

    Raises:
        InputError: Always.
    """
    raise InputError(
        place, name, found=found, allowed=allowed, next_step=next_step or f"correct {name}"
    )


def whole(
    place: str, name: str, value: SupportsIndex, *, least: int | None = 0, most: int | None = None
) -> int:
    """Read a count; ``bool`` is no count.

    Args:
        place: The procedure.
        name: The argument.
        value: A whole number, or anything whose ``__index__`` works.
        least: The smallest that is allowed; none if ``None``.
        most: The largest that is allowed; none by default.

    Returns:
        A plain ``int``.

    Raises:
        InputError: It is no whole number, or out of range.
    """
    allowed = "a whole number" + ("" if least is None else f", {least} or more")
    allowed += "" if most is None else f", at most {most}"
    if isinstance(value, bool):
        refuse(place, name, value, allowed, "give a count, not a truth value")
    try:
        count = operator.index(value)
    except TypeError:
        refuse(place, name, value, allowed)
    if (least is not None and count < least) or (most is not None and count > most):
        refuse(place, name, count, allowed)
    return count


def successes_of(place: str, attempts: int, successes: SupportsIndex) -> int:
    """Read the number of attempts that succeeded.

    Raises:
        InputError: It is no whole number from 0 to ``attempts``.
    """
    k = whole(place, "successes", successes, least=None)
    if not 0 <= k <= attempts:
        refuse(place, "successes", k, f"k of n attempts, 0 to {attempts}")
    return k


def rational(place: str, name: str, value: Number) -> Fraction:
    """Read a number as the fraction that its text says.

    Args:
        place: The procedure.
        name: The argument, with the position where it is a list.
        value: A whole number, fraction, decimal, text such as ``"1/3"``, or float.

    Returns:
        The exact value.

    Raises:
        InputError: It is no finite number.
    """
    found = _fraction(value)
    if found is None:
        refuse(place, name, value, "a finite number, or its text such as 0.95 or 1/3")
    return found


def _fraction(value: object) -> Fraction | None:
    if isinstance(value, str):
        return _from_text(value)
    if isinstance(value, Fraction):
        # A subclass could carry a mutable value into a frozen result.
        return Fraction(value.numerator, value.denominator)
    if isinstance(value, Decimal):
        is_readable = value.is_finite() and abs(value.adjusted()) <= _LARGEST_EXPONENT
        return Fraction(value) if is_readable else None
    if isinstance(value, float):
        return Fraction(repr(float(value))) if math.isfinite(value) else None
    return _from_index(value)


def _from_index(value: object) -> Fraction | None:
    if isinstance(value, bool):
        return None
    try:
        return Fraction(operator.index(value))  # type: ignore[arg-type]  # asking is the check
    except TypeError:
        return None


def _from_text(text: str) -> Fraction | None:
    if _TEXT.fullmatch(text) is None:
        return None
    try:
        return Fraction(text)
    except ZeroDivisionError:
        return None


def probability(place: str, name: str, value: Number) -> Fraction:
    """Read a probability, from 0 to 1, ends included.

    Raises:
        InputError: It is no number, or outside.
    """
    found = rational(place, name, value)
    if not 0 <= found <= 1:
        refuse(place, name, value, "a probability from 0 to 1")
    return found


def inside(place: str, name: str, value: Number) -> Fraction:
    """Read a probability strictly between 0 and 1: an error, a power, a margin.

    Raises:
        InputError: It is no number, or not strictly between 0 and 1.
    """
    found = rational(place, name, value)
    if not 0 < found < 1:
        refuse(place, name, value, "a number above 0 and below 1")
    return found


def confidence(place: str, value: Number) -> Fraction:
    """Read a confidence level; 95 is not taken for 95 %.

    Raises:
        InputError: It is no number strictly between 0 and 1.
    """
    found = rational(place, "level", value)
    if not 0 < found < 1:
        refuse(place, "level", value, "a number above 0 and below 1", 'write "0.95" for 95 %')
    return found


def choice(place: str, name: str, value: str, allowed: Sequence[str]) -> str:
    """Read one of a few words.

    Raises:
        InputError: It is none of them.
    """
    if value not in allowed:
        refuse(place, name, value, "one of " + ", ".join(allowed))
    return value


def listed(place: str, name: str, values: Iterable[_T], *, least: int = 0) -> tuple[_T, ...]:
    """Read a list whose order the caller chose.

    A text or a set is refused: the one would fall into letters, the other has no order.

    Raises:
        InputError: It is no list, or shorter than allowed.
    """
    allowed = f"a list of {least} or more" if least else "a list"
    if isinstance(values, str | bytes | set | frozenset | dict):
        refuse(place, name, values, allowed)
    try:
        found = tuple(values)
    except TypeError:
        refuse(place, name, values, allowed)
    if len(found) < least:
        refuse(place, name, found, allowed)
    return found


def measured(
    place: str, name: str, values: Iterable[Number], *, least: int = 1
) -> tuple[Fraction, ...]:
    """Read a list of measured values, each refused by its position.

    Raises:
        InputError: The list is too short, or a value in it is no finite number.
    """
    found = listed(place, name, values, least=least)
    return tuple(rational(place, f"{name}[{at}]", value) for at, value in enumerate(found))
