"""A parcel as the counter knows it."""

from dataclasses import dataclass

CARRIERS = ("blick", "norrsken", "postverk")
LARGEST_GRAMS = 31_500


class ParcelError(ValueError):
    """A parcel that can't be taken in."""


@dataclass(frozen=True)
class Parcel:
    """One parcel on the counter."""

    number: str
    recipient: str
    street: str
    town: str
    zone: str
    grams: int
    carrier: str
    queue: str = "standard"

    def __post_init__(self):
        if self.carrier not in CARRIERS:
            raise ParcelError(f"{self.number}: no carrier called {self.carrier!r}")
        if not 0 < self.grams <= LARGEST_GRAMS:
            raise ParcelError(f"{self.number}: {self.grams} g can't be sent")

    @property
    def kilograms(self):
        """Weight as it is printed, rounded up to full hundred grams."""
        return -(-self.grams // 100) / 10
