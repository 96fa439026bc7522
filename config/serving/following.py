"""Answers that come later or have no end, such as log streams. They run on the event loop alone, without a thread."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing

from granian._granian import RSGIHTTPProtocol as HTTPProtocol
from granian._granian import RSGIHTTPStreamTransport as Transport
from granian._granian import RSGIProtocolClosed as ProtocolClosed
from granian.rsgi import Scope

from config.serving.acks import Arrivals
from config.serving.wsgi import Followed, Headers

log = logging.getLogger(__name__)

__all__ = ["Followed", "Followers"]


class Followers:
    """All endless answers of this process."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[None]] = set()

    def end(self) -> None:
        """End all of them. Each client may connect again, to another process."""
        for task in self._running:
            task.get_loop().call_soon_threadsafe(task.cancel)

    async def serve(self, scope: Scope, proto: HTTPProtocol, followed: Followed, *, headers: Headers) -> None:
        """Send the answer until it ends, the client leaves, or `end` is called."""
        writing = asyncio.create_task(_write(scope, proto, followed, headers))
        leaving = asyncio.create_task(_until_left(proto))
        self._running.add(writing)
        try:
            await asyncio.wait({writing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (writing, leaving):
                task.cancel()
            await asyncio.gather(writing, leaving, return_exceptions=True)
            self._running.discard(writing)
            followed.end()


async def _until_left(proto: HTTPProtocol) -> None:
    await proto.client_disconnect()


async def _write(scope: Scope, proto: HTTPProtocol, followed: Followed, headers: Headers) -> None:
    try:
        async with aclosing(followed.begin()) as pieces:
            first = await anext(pieces, b"")  # the status goes with it: clients take that as the answer
            if followed.endless:
                await _stream(scope, proto, followed.status, [*followed.headers, *headers], first, pieces)
            else:
                proto.response_bytes(followed.status, [*followed.headers, *headers], first)
    except (ProtocolClosed, OSError):
        log.debug("a follower left")
    except Exception:
        log.exception("an answer broke off")


async def _stream(
    scope: Scope, proto: HTTPProtocol, status: int, headers: Headers, first: bytes, pieces: AsyncGenerator[bytes, None]
) -> None:
    transport = proto.response_stream(status, headers)
    arrivals = await Arrivals.of(scope.client)
    if arrivals is None:
        return
    with contextlib.closing(arrivals):
        await _sent(arrivals, transport, first)
        async for piece in pieces:
            await _sent(arrivals, transport, piece)


async def _sent(arrivals: Arrivals, transport: Transport, piece: bytes) -> None:
    await arrivals.room_for(piece)
    await transport.send_bytes(piece)
