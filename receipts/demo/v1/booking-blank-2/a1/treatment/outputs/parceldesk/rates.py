"""Fuel surcharges: what the carriers bill on top of the base price."""

from decimal import ROUND_HALF_EVEN, Decimal

from parceldesk.zones import BASE, FUEL_PERCENT

CENT = Decimal("0.01")


def line_surcharge(parcel):
    """Return the surcharge of one parcel, exact."""
    return BASE[parcel.zone] * FUEL_PERCENT / 100


def surcharge_total(parcels):
    """Return what is booked as fuel surcharge: each line in whole cents, then the sum."""
    total = Decimal("0.00")
    for parcel in parcels:
        total += line_surcharge(parcel).quantize(CENT, rounding=ROUND_HALF_EVEN)
    return total
