"""The scanner's file: one parcel a line, as JSON."""

import json
from pathlib import Path

from parceldesk.parcels import Parcel, ParcelError


def read_parcels(path):
    """Read the scanner's file; a bad line is named by its number."""
    parcels = []
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            parcels.append(Parcel(**json.loads(line)))
        except (TypeError, ValueError) as error:
            raise ParcelError(f"line {number}: {error}") from error
    return parcels
