import unittest

from parceldesk.parcels import ParcelError
from tests.samples import parcel


class ParcelTest(unittest.TestCase):
    def test_weight_is_rounded_up_to_hundred_grams(self):
        self.assertEqual(parcel(grams=1240).kilograms, 1.3)
        self.assertEqual(parcel(grams=1200).kilograms, 1.2)

    def test_an_unknown_carrier_is_refused(self):
        with self.assertRaises(ParcelError):
            parcel(carrier="pigeon")

    def test_too_heavy_is_refused(self):
        with self.assertRaises(ParcelError):
            parcel(grams=31_501)


if __name__ == "__main__":
    unittest.main()
