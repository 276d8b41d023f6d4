"""Labels for the thermal printer: plain lines of text."""

# Characters in a line, as the carriers state them for their label stock.
COLUMNS = {
    "blick": 32,
    "norrsken": 40,
    "postverk": 48,
}


def label(parcel):
    """Return the lines of a parcel's label, each cut to what the carrier's stock holds."""
    columns = COLUMNS[parcel.carrier]
    lines = [
        parcel.number,
        parcel.recipient,
        parcel.street,
        parcel.town,
        f"{parcel.kilograms} kg  zone {parcel.zone}",
    ]
    return [line[:columns] for line in lines]
