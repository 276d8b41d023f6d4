"""Queues between the counter and the truck."""

from collections import deque

QUEUES = ("express", "standard", "customs", "returns")


class QueueError(ValueError):
    """A queue that does not exist, or an order that leaves one out."""


class Desk:
    """Parcels that wait, each in one queue, first in first out."""

    def __init__(self):
        self._waiting = {name: deque() for name in QUEUES}

    def put(self, parcel):
        """Let a parcel wait in its queue."""
        if parcel.queue not in self._waiting:
            raise QueueError(f"{parcel.number}: no queue called {parcel.queue!r}")
        self._waiting[parcel.queue].append(parcel)

    def waiting(self, queue):
        """Return the numbers that wait in a queue, oldest first."""
        return [parcel.number for parcel in self._waiting[queue]]

    def drain(self, order):
        """Yield every waiting parcel, queue after queue.

        The order must name each queue once. Which order is right depends on the hour;
        this function does not know.
        """
        if sorted(order) != sorted(QUEUES):
            raise QueueError(f"name each queue once: {', '.join(QUEUES)}")
        for name in order:
            while self._waiting[name]:
                yield self._waiting[name].popleft()
