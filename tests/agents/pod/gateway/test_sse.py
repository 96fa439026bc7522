from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from agents.pod.gateway import sse


def test_silence_is_filled_with_signs_of_life() -> None:
    async def slow() -> AsyncGenerator[str, None]:
        yield "one"
        await asyncio.sleep(0.25)
        yield "two"

    async def heard() -> list[str | None]:
        return [event async for event in sse.with_pings(slow(), every=0.1)]

    assert asyncio.run(heard()) == ["one", None, None, "two"]


def test_whoever_stops_listening_ends_the_source() -> None:
    ended = False

    async def endless() -> AsyncGenerator[str, None]:
        nonlocal ended
        try:
            while True:
                await asyncio.sleep(60)
                yield "never"
        finally:
            ended = True

    async def leave() -> None:
        async with aclosing(sse.with_pings(endless(), every=0.05)) as events:
            assert await anext(events) is None

    asyncio.run(leave())
    assert ended
