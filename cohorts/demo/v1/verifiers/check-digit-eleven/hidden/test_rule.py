import unittest

from parceldesk.tracking import WEIGHTS, check_digit, is_valid


def by_the_rule(digits):
    """The rule of docs/tracking.md, written down once more."""
    result = 11 - sum(int(one) * weight for one, weight in zip(digits, WEIGHTS)) % 11
    if result == 10:
        return 0
    return 5 if result == 11 else result


class RuleTest(unittest.TestCase):
    def test_the_weights_are_those_of_the_rule(self):
        self.assertEqual(tuple(WEIGHTS), (8, 6, 4, 2, 3, 5, 9, 7))

    def test_every_result_of_the_rule(self):
        for number in range(20451800, 20451999):
            with self.subTest(number=number):
                self.assertEqual(check_digit(str(number)), by_the_rule(str(number)))

    def test_the_number_in_question_is_valid(self):
        self.assertTrue(is_valid("CN204518895NO"))
        self.assertFalse(is_valid("CN204518891NO"))
