"""Server-sent events: the answer starts with its first event, and pings are sent while there are no events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, TypeVar

from aiohttp import web

EVENT_STREAM = "text/event-stream"
# A comment line after this many seconds shows proxies and clients that a silent turn still runs.
PING_SECONDS = 10.0
PING = b": still working\n\n"
_END: Any = object()
Event = TypeVar("Event")


def response(content_type: str = EVENT_STREAM) -> web.StreamResponse:
    headers = {"Content-Type": content_type, "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return web.StreamResponse(headers=headers)


async def send(request: web.Request, answer: web.StreamResponse, data: bytes) -> None:
    if not answer.prepared:
        await answer.prepare(request)
    await answer.write(data)


async def with_pings(
    events: AsyncGenerator[Event, None], *, every: float = PING_SECONDS
) -> AsyncGenerator[Event | None, None]:
    """The events, with a None after each `every` seconds without an event. Closes `events` at the end."""
    coming: asyncio.Task[Event] | None = None
    async with aclosing(events):
        try:
            while True:
                coming = coming or asyncio.ensure_future(anext(events, _END))
                await asyncio.wait({coming}, timeout=every)
                if not coming.done():
                    yield None
                    continue
                event, coming = coming.result(), None
                if event is _END:
                    return
                yield event
        finally:
            await _stop(coming)


async def _stop(coming: asyncio.Task[Event] | None) -> None:
    """Stop waiting for the next event before the generator is closed."""
    if coming and not coming.done():
        coming.cancel()
        await asyncio.wait({coming})
