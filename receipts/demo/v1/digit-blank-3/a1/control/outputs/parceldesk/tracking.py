"""Tracking numbers: two letters, eight digits, a check digit, a country."""

WEIGHTS = (8, 6, 4, 2, 3, 5, 9, 7)


def check_digit(digits):
    """Return the check digit for eight digits; docs/tracking.md has the rule."""
    remainder = sum(int(one) * weight for one, weight in zip(digits, WEIGHTS)) % 11
    result = 11 - remainder
    return 5 if result == 11 else result % 10


def is_valid(number):
    """Tell whether a tracking number is well formed and its check digit right."""
    digits = number[2:10]
    shape = number[:2] + number[11:]
    if len(number) != 13 or not digits.isdigit() or not number[10].isdigit():
        return False
    return shape.isalpha() and shape.isupper() and int(number[10]) == check_digit(digits)
