"""Labels for the thermal printer: plain lines of text."""

import textwrap

# Characters in a line, as the carriers state them for their label stock.
COLUMNS = {
    "blick": 32,
    "norrsken": 40,
    "postverk": 48,
}
MARGIN = 3  # characters that the cutter may take on either side of Blick's stock


def label(parcel):
    """Return the lines of a parcel's label, wrapped to what the carrier's stock holds."""
    columns = usable_columns(parcel.carrier)
    lines = [
        parcel.number,
        parcel.recipient,
        parcel.street,
        parcel.town,
        f"{parcel.kilograms} kg  zone {parcel.zone}",
    ]
    return [part for line in lines for part in textwrap.wrap(line, columns) or [""]]


def usable_columns(carrier):
    """Return how many characters of a line are sure to be printed."""
    if carrier == "blick":
        return COLUMNS[carrier] - 2 * MARGIN
    return COLUMNS[carrier]
