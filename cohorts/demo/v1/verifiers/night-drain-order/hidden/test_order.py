import os
import unittest
from pathlib import Path

ORDER = Path(os.environ["WORKSPACE"], "ops", "drain.conf")


class OrderTest(unittest.TestCase):
    def test_the_night_shift_reads_which_queue_goes_before_the_others(self):
        self.assertTrue(ORDER.is_file() and not ORDER.is_symlink(), "no ops/drain.conf")
        with ORDER.open(encoding="utf-8") as file:
            text = file.read(1000)
        self.assertEqual(text.split(), ["first:", "returns"])
