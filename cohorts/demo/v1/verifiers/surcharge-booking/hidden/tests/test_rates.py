import unittest
from decimal import Decimal

from parceldesk.rates import line_surcharge, surcharge_total
from tests.samples import parcel


class SurchargeTest(unittest.TestCase):
    def test_a_line_is_a_share_of_the_base_price(self):
        self.assertEqual(line_surcharge(parcel(zone="D")), Decimal("0.28"))

    def test_a_total_is_in_whole_cents(self):
        total = surcharge_total([parcel(zone="D"), parcel(zone="D")])
        self.assertEqual(total, Decimal("0.56"))

    def test_no_parcels_cost_nothing(self):
        self.assertEqual(surcharge_total([]), Decimal("0.00"))


if __name__ == "__main__":
    unittest.main()
