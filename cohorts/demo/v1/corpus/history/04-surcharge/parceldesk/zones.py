"""Prices by zone, as in the yearly contract."""

from decimal import Decimal

BASE = {
    "A": Decimal("5.00"),
    "B": Decimal("7.00"),
    "C": Decimal("9.00"),
    "D": Decimal("11.20"),
}

FUEL_PERCENT = Decimal("2.5")
