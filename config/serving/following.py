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

WRITE_SECONDS = 30.0  # for one piece of a stream that ends by itself

__all__ = ["Followed", "Followers"]


class Followers:
    """All endless answers of this process."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[None]] = set()

    def end(self) -> None:
        """End all that would not end by themselves. Each client may connect again, to another process."""
        for task in list(self._running):
            task.get_loop().call_soon_threadsafe(task.cancel)

    async def serve(self, scope: Scope, proto: HTTPProtocol, followed: Followed, *, headers: Headers) -> None:
        """Send the answer until it ends, the client leaves, or `end` is called."""
        writing = asyncio.create_task(_write(scope, proto, followed, headers), context=followed.context)
        leaving = asyncio.create_task(_until_left(proto))
        if not followed.may_finish:
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
            head = followed.head()
            if head.endless:
                seconds = WRITE_SECONDS if followed.may_finish else None
                transport = proto.response_stream(head.status, [*head.headers, *headers])
                await _stream(scope, transport, first, pieces, seconds=seconds)
            else:
                proto.response_bytes(head.status, [*head.headers, *headers], first)
    except (ProtocolClosed, OSError):
        log.debug("a follower left")
    except Exception:
        log.exception("an answer broke off")


async def _stream(
    scope: Scope, transport: Transport, first: bytes, pieces: AsyncGenerator[bytes, None], *, seconds: float | None
) -> None:
    """Send the pieces. If `seconds` are given, the client must have room for each of them within that time."""
    arrivals = await Arrivals.of(scope.client)
    if arrivals is None:
        return
    with contextlib.closing(arrivals):
        if first:
            await _sent(arrivals, transport, first, seconds)
        async for piece in pieces:
            await _sent(arrivals, transport, piece, seconds)


async def _sent(arrivals: Arrivals, transport: Transport, piece: bytes, seconds: float | None) -> None:
    async with asyncio.timeout(seconds):
        await arrivals.room_for(piece)
        await transport.send_bytes(piece)
