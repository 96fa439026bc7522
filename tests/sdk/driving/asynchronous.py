"""The asynchronous client, called from a test that waits for each call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from agentpods import AsyncAgentpods, webhooks
from agentpods._wire.settings import TIMEOUT
from tests.sdk.driving.client import GROUPS, DrivenClient, with_words

_END = object()


class AwaitedCalls:
    """A group of calls. Each one is awaited in the same event loop; a stream is read as the test reads it."""

    def __init__(self, calls: object, loop: asyncio.Runner) -> None:
        self._calls, self._loop = calls, loop

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method: Callable[..., Any] = getattr(self._calls, name)

        def call(*given: Any, **named: Any) -> Any:
            begun = method(*given, **named)
            return self._read(begun) if isinstance(begun, AsyncGenerator) else self._loop.run(begun)

        return call

    def _read(self, events: AsyncGenerator[Any, None]) -> Iterator[Any]:
        try:
            while (event := self._loop.run(_next(events))) is not _END:
                yield event
        finally:
            self._loop.run(events.aclose())


async def _next(events: AsyncGenerator[Any, None]) -> Any:
    return await anext(events, _END)


@contextmanager
def asynchronous(url: str, key: str, *, timeout: float = TIMEOUT, max_retries: int = 3) -> Iterator[DrivenClient]:
    with asyncio.Runner() as loop:
        pods = AsyncAgentpods(url, key, timeout=timeout, max_retries=max_retries)
        yield with_words({name: AwaitedCalls(getattr(pods, name), loop) for name in GROUPS}, webhooks.verified)
        loop.run(pods.close())
