"""Measures how much of an answer has arrived at the client. The server alone would accept data without limit."""

from __future__ import annotations

import asyncio
import contextlib
import socket

from config.serving import unread

# The most that may be sent to one client and not be acknowledged (bytes).
WINDOW_BYTES = 128 * 1024
LOOK_SECONDS = 0.25
# The same for a file: a larger window, checked more often, so that it goes as fast as its client reads.
FILE_BYTES = 4 * 1024 * 1024
FILE_LOOK_SECONDS = 0.01


class Arrivals:
    """Counts the sent and the acknowledged bytes of one connection, as the kernel reports them. `close` it."""

    def __init__(self, connection: socket.socket, *, window: int, look: float) -> None:
        self._connection = connection
        self._window, self._look = window, look
        self._sent = unread.acked(connection)

    @classmethod
    async def of(cls, client: str, *, window: int = WINDOW_BYTES, look: float = LOOK_SECONDS) -> Arrivals | None:
        """Find the connection of the client at this address, `host:port`. None if the connection is closed."""
        connection = await asyncio.to_thread(_connection_of, client)
        return cls(connection, window=window, look=look) if connection else None

    async def room_for(self, piece: bytes) -> None:
        """Wait until enough has arrived that this piece may follow. Raises OSError if the connection has ended."""
        self._sent += len(piece) + len(f"{len(piece):x}\r\n\r\n")
        while self._sent - unread.acked(self._connection) > max(self._window, len(piece)):
            if not unread.is_open(self._connection):
                raise ConnectionResetError
            await asyncio.sleep(self._look)

    def close(self) -> None:
        self._connection.close()


def _connection_of(client: str) -> socket.socket | None:
    host, _, port = client.rpartition(":")
    wanted = (host.strip("[]"), int(port))
    for number in sorted(unread.descriptors(), reverse=True):  # a new connection mostly has one of the highest numbers
        with unread.duplicate(number) as found, contextlib.suppress(OSError):
            if found is not None and found.getpeername()[:2] == wanted:
                return found.dup()
    return None
