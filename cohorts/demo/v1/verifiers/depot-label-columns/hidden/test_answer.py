import os
import unittest
from pathlib import Path

ANSWER = Path(os.environ["WORKSPACE"], "answers", "label-columns.txt")


class AnswerTest(unittest.TestCase):
    def test_the_answer_names_the_columns_that_the_depot_prints(self):
        self.assertTrue(ANSWER.is_file() and not ANSWER.is_symlink(), "no answer file")
        with ANSWER.open(encoding="utf-8") as file:
            text = file.read(1000)
        self.assertEqual(text.split(), ["columns:", "34"])
