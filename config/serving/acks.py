"""Measures how much of an answer has arrived at the client. The server alone would accept data without limit."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterable

from config.serving import unread

# The most that may be sent to one client and not be acknowledged (bytes).
WINDOW_BYTES = 128 * 1024
LOOK_SECONDS = 0.25
# The same for a file: a larger window, checked more often, so that it goes as fast as its client reads.
FILE_BYTES = 4 * 1024 * 1024
FILE_LOOK_SECONDS = 0.01
Peer = tuple[str, int]  # the client's address and port
_searching = threading.Lock()
# The descriptors of the open streams. A search leaves them out: with ten thousand it would take 150 ms each time.
_held: dict[int, Peer] = {}
# The other connections, as the last search found them: when thousands come at once, one search is for all of them.
_found: dict[Peer, int] = {}


class Arrivals:
    """Counts the sent and the acknowledged bytes of one connection, as the kernel reports them. `close` it.

    It keeps the number of the server's descriptor and none of its own, of which ten thousand streams would be too many.
    """

    def __init__(self, number: int, peer: Peer, *, window: int, look: float) -> None:
        """Raises OSError if the connection has ended."""
        self._number, self._peer = number, peer
        self._window, self._look = window, look
        self._sent = self._acked()[0]

    @classmethod
    async def of(cls, client: str, *, window: int = WINDOW_BYTES, look: float = LOOK_SECONDS) -> Arrivals | None:
        """Find the connection of the client at this address, `host:port`. None if the connection is closed."""
        host, _, port = client.rpartition(":")
        peer = (host.strip("[]"), int(port))
        number = await asyncio.to_thread(_number_of, peer)
        with contextlib.suppress(OSError):
            return None if number is None else cls(number, peer, window=window, look=look)
        return None

    async def room_for(self, piece: bytes) -> None:
        """Wait until enough has arrived that this piece may follow. Raises OSError if the connection has ended."""
        self._sent += len(piece) + len(f"{len(piece):x}\r\n\r\n")
        acked, is_open = await self._now()
        while self._sent - acked > max(self._window, len(piece)):
            if not is_open:
                raise ConnectionResetError
            await asyncio.sleep(self._look)
            acked, is_open = await self._now()

    async def _now(self) -> tuple[int, bool]:
        try:
            return self._acked()
        except OSError:  # the number was perhaps that of a copy, which somebody made to look at the connection
            number = await asyncio.to_thread(_number_of, self._peer)
            if number is None:
                raise
            self.close()
            self._number = number
            return self._acked()

    def close(self) -> None:
        """Searches may look at its descriptor again."""
        if _held.get(self._number) == self._peer:
            del _held[self._number]

    def _acked(self) -> tuple[int, bool]:
        """The acknowledged bytes, and whether the connection is open. Raises OSError if it has ended."""
        with unread.duplicate(self._number) as found:
            if found is None or found.getpeername()[:2] != self._peer:
                raise ConnectionResetError
            return unread.acked(found), unread.is_open(found)


def _number_of(peer: Peer) -> int | None:
    with _searching:  # or one search would find the copies of another
        if peer not in _found or _peer_of(_found[peer]) != peer:
            _search(peer)
        number = _found.pop(peer, None)
        if number is not None:
            _held[number] = peer
        return number


def _search(peer: Peer) -> None:
    numbers = unread.descriptors()
    _found.clear()
    _find(number for number in numbers if _held.get(number, peer) == peer)
    if peer not in _found:  # the connection of another stream ended a moment ago, and this one has its number
        _find(numbers)


def _find(numbers: Iterable[int]) -> None:
    _found.update((peer, number) for number in numbers if (peer := _peer_of(number)))


def _peer_of(number: int) -> Peer | None:
    with unread.duplicate(number) as found, contextlib.suppress(OSError):
        return found.getpeername()[:2] if found else None
    return None
