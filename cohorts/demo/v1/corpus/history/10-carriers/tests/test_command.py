import contextlib
import io
import unittest
from pathlib import Path

from parceldesk.__main__ import main

MONDAY = str(Path(__file__).parent.parent / "data" / "monday.jsonl")


def run(*argv):
    """Return the exit status and what was printed."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(argv)
    return status, out.getvalue(), err.getvalue()


class CommandTest(unittest.TestCase):
    def test_report_counts_by_carrier(self):
        status, out, _ = run("report", MONDAY)
        self.assertEqual(status, 0)
        self.assertIn("parcels         6", out)
        self.assertIn("  norrsken      3", out)

    def test_drain_prints_every_parcel_once(self):
        status, out, _ = run("drain", MONDAY)
        self.assertEqual((status, len(out.splitlines())), (0, 6))

    def test_labels_are_separated_by_an_empty_line(self):
        _, out, _ = run("labels", MONDAY)
        self.assertEqual(out.count("\n\n"), 6)

    def test_a_missing_file_is_an_error(self):
        status, _, err = run("report", "nowhere.jsonl")
        self.assertEqual(status, 1)
        self.assertIn("nowhere.jsonl", err)


if __name__ == "__main__":
    unittest.main()
