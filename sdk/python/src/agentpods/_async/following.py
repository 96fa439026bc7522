"""Follows a stream of the service over broken connections."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from agentpods._wire.following import Follow
from agentpods._wire.sse import ServerEvent
from agentpods.errors import ApiError, NoAnswerError


async def followed(
    connect: Callable[[str | None], AsyncGenerator[ServerEvent, None]], after: str | None
) -> AsyncGenerator[ServerEvent, None]:
    """The events of the stream, until `end`. `connect` opens it after the event with this id, or at its beginning.

    Raises ApiError and NoAnswerError where another connection is of no use.
    """
    follow = Follow(after)
    while True:
        events = connect(follow.place)
        try:
            async with aclosing(events):
                async for event in events:
                    if follow.is_news(event):
                        yield event
                    if event.name == "end":
                        return
            pause = follow.pause_after(None)
        except (ApiError, NoAnswerError) as failure:
            pause = follow.pause_after(failure)
        await asyncio.sleep(pause)
