"""How much of what was sent to a client has arrived there: the server itself takes all that it is given."""

from __future__ import annotations

import asyncio
import contextlib
import socket

from config.serving import unread

# What may be on its way to one client (bytes).
WINDOW_BYTES = 128 * 1024
LOOK_SECONDS = 0.25
# Where a whole file is on its way: as fast as its client takes it, and looked at more often.
FILE_BYTES = 4 * 1024 * 1024
FILE_LOOK_SECONDS = 0.01


class Arrivals:
    """Counts on one connection, by what the kernel says of it. `close` it."""

    def __init__(self, connection: socket.socket, *, window: int, look: float) -> None:
        self._connection = connection
        self._window, self._look = window, look
        self._sent = unread.acked(connection)

    @classmethod
    async def of(cls, client: str, *, window: int = WINDOW_BYTES, look: float = LOOK_SECONDS) -> Arrivals | None:
        """Of the client at this address, `host:port`; None where its connection is gone."""
        connection = await asyncio.to_thread(_connection_of, client)
        return cls(connection, window=window, look=look) if connection else None

    async def room_for(self, piece: bytes) -> None:
        """Until so much of what was sent before has arrived that this may follow. Raises OSError once it was ended."""
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
    for number in unread.descriptors():
        with unread.duplicate(number) as found, contextlib.suppress(OSError):
            if found is not None and found.getpeername()[:2] == wanted:
                return found.dup()
    return None
