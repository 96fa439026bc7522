"""Turns with a gateway, for tests that have no event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import suppress

from agents.pod.turns.events import TurnEvent
from agents.runtimes import turns
from agents.runtimes.base import Access, Endpoint
from agents.runtimes.turns import ChatReply


def chat(endpoint: Endpoint, access: Access, *, message: str, session_id: str | None) -> ChatReply:
    return asyncio.run(turns.reply(endpoint, access, message=message, session_id=session_id))


def chat_events(
    endpoint: Endpoint, access: Access, *, message: str, session_id: str | None
) -> Generator[TurnEvent | None, None, None]:
    """Closing the generator ends the turn."""
    with asyncio.Runner() as runner:
        events = turns.events(endpoint, access, message=message, session_id=session_id)
        try:
            with suppress(StopAsyncIteration):
                while True:
                    yield runner.run(_next(events))
        finally:
            runner.run(events.aclose())


async def _next(events: turns.Events) -> TurnEvent | None:
    return await anext(events)
