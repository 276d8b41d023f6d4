import unittest

from parceldesk.labels import COLUMNS, label, usable_columns
from tests.samples import parcel


class LabelTest(unittest.TestCase):
    def test_a_label_has_number_address_and_weight(self):
        self.assertEqual(
            label(parcel()),
            ["RB473124829SE", "Ida Lindqvist", "Kvarngatan 7", "Umeå", "1.3 kg  zone A"],
        )

    def test_a_long_street_goes_on_in_the_next_line(self):
        long = parcel(street="Gamla landsvägen mot Bygdsiljum 112, gården bakom kyrkan")
        self.assertEqual(len(label(long)), 6)

    def test_no_line_is_longer_than_the_stock(self):
        long = parcel(street="Gamla landsvägen mot Bygdsiljum " * 3)
        for line in label(long):
            self.assertLessEqual(len(line), COLUMNS[long.carrier])

    def test_blick_needs_margins(self):
        self.assertEqual(usable_columns("blick"), 26)
        self.assertEqual(usable_columns("postverk"), 48)


if __name__ == "__main__":
    unittest.main()
