"""Parcels that the tests share."""

from parceldesk.parcels import Parcel


def parcel(number="RB473124829SE", **changes):
    """Return an ordinary parcel, with some fields changed."""
    fields = {
        "number": number,
        "recipient": "Ida Lindqvist",
        "street": "Kvarngatan 7",
        "town": "Umeå",
        "zone": "A",
        "grams": 1240,
        "carrier": "norrsken",
    }
    return Parcel(**{**fields, **changes})
