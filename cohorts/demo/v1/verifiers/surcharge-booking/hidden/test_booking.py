import unittest
from decimal import Decimal

from parceldesk.rates import surcharge_total
from tests.samples import parcel


class BookingTest(unittest.TestCase):
    """Lines of 0.125 (A), 0.175 (B), 0.225 (C) and 0.28 (D): halves that tell rules apart."""

    def booked(self, zones):
        total = surcharge_total([parcel(zone=zone) for zone in zones])
        self.assertEqual(total.as_tuple().exponent, -2)
        return total

    def test_a_single_line_goes_to_the_even_cent(self):
        self.assertEqual(self.booked("A"), Decimal("0.12"))
        self.assertEqual(self.booked("B"), Decimal("0.18"))
        self.assertEqual(self.booked("C"), Decimal("0.22"))

    def test_each_line_is_rounded_before_the_sum(self):
        self.assertEqual(self.booked("AA"), Decimal("0.24"))
        self.assertEqual(self.booked("ABC"), Decimal("0.52"))
        self.assertEqual(self.booked("BBBB"), Decimal("0.72"))

    def test_lines_in_whole_cents_stay_as_they_are(self):
        self.assertEqual(self.booked("DD"), Decimal("0.56"))
        self.assertEqual(self.booked(""), Decimal("0.00"))
