import unittest

from parceldesk.tracking import check_digit, is_valid


class TrackingTest(unittest.TestCase):
    def test_check_digit(self):
        self.assertEqual(check_digit("47312482"), 9)

    def test_a_right_number_is_valid(self):
        self.assertTrue(is_valid("RB473124829SE"))

    def test_a_wrong_number_is_not(self):
        for number in ("RB473124828SE", "rb473124829se", "RB47312482SE", "RB4731248X9SE", ""):
            with self.subTest(number=number):
                self.assertFalse(is_valid(number))


if __name__ == "__main__":
    unittest.main()
