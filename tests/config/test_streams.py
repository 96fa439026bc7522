"""Answers that the event loop writes."""

from __future__ import annotations

import asyncio
from functools import partial

from config.streams import LaterAnswer


def test_who_waits_is_answered_when_the_process_stops() -> None:
    async def stopped() -> bytes:
        answer = LaterAnswer(partial(asyncio.sleep, 600), lambda: b"as it is now", end=lambda: None)
        begin, _ = answer.hand_over()
        waiting = asyncio.create_task(anext(begin()))
        await asyncio.sleep(0)
        waiting.cancel()
        return await waiting

    assert asyncio.run(stopped()) == b"as it is now"
