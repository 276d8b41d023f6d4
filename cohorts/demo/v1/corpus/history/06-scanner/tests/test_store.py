import tempfile
import unittest
from pathlib import Path

from parceldesk.parcels import ParcelError
from parceldesk.store import read_parcels

MONDAY = Path(__file__).parent.parent / "data" / "monday.jsonl"


class StoreTest(unittest.TestCase):
    def test_the_scanners_file_is_read(self):
        parcels = read_parcels(MONDAY)
        self.assertEqual(len(parcels), 6)
        self.assertEqual(parcels[1].queue, "express")

    def test_a_bad_line_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "bad.jsonl")
            path.write_text('\n{"number": "1"}\n', encoding="utf-8")
            with self.assertRaisesRegex(ParcelError, "line 2"):
                read_parcels(path)


if __name__ == "__main__":
    unittest.main()
