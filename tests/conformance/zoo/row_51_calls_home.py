"""Row 51: opens a connection to somewhere."""

from __future__ import annotations

import socket

from base import Good, Object, run


class Wrong(Good):
    def restore(self, request: Object) -> Object:
        with socket.create_connection(("192.0.2.1", 443)):
            return super().restore(request)


if __name__ == "__main__":
    run(Wrong)
