import unittest

from parceldesk.queues import QUEUES, Desk, QueueError
from tests.samples import parcel


class DeskTest(unittest.TestCase):
    def setUp(self):
        self.desk = Desk()
        for number, queue in (("1", "standard"), ("2", "express"), ("3", "standard")):
            self.desk.put(parcel(number, queue=queue))

    def test_a_queue_is_first_in_first_out(self):
        self.assertEqual(self.desk.waiting("standard"), ["1", "3"])

    def test_draining_follows_the_order_and_empties_the_desk(self):
        drained = [one.number for one in self.desk.drain(QUEUES)]
        self.assertEqual(drained, ["2", "1", "3"])
        self.assertEqual([self.desk.waiting(name) for name in QUEUES], [[], [], [], []])

    def test_an_order_must_name_each_queue(self):
        with self.assertRaises(QueueError):
            list(self.desk.drain(("express", "standard")))

    def test_an_unknown_queue_is_refused(self):
        with self.assertRaises(QueueError):
            self.desk.put(parcel(queue="attic"))


if __name__ == "__main__":
    unittest.main()
