import unittest

from parceldesk.labels import COLUMNS, label
from tests.samples import parcel


class LabelTest(unittest.TestCase):
    def test_a_label_has_number_address_and_weight(self):
        self.assertEqual(
            label(parcel()),
            ["RB473124829SE", "Ida Lindqvist", "Kvarngatan 7", "Umeå", "1.3 kg  zone A"],
        )

    def test_no_line_is_longer_than_the_stock(self):
        long = parcel(street="Gamla landsvägen mot Bygdsiljum " * 3)
        for line in label(long):
            self.assertLessEqual(len(line), COLUMNS[long.carrier])


if __name__ == "__main__":
    unittest.main()
