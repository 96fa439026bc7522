"""Answers that come later, or last as long as their client likes. The server's event loop writes them, without a
thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator

from django.http import StreamingHttpResponse

EVENT_STREAM = "text/event-stream"
Pieces = AsyncGenerator[bytes, None]


class AsyncAnswer(StreamingHttpResponse):
    """An answer that an asynchronous generator writes.

    `config/serving` takes the generator over and frees the thread. Other servers, such as a test's, read it in their
    thread.
    """

    is_endless: bool

    def __init__(self, begin: Callable[[], Pieces], *, end: Callable[[], None], content_type: str) -> None:
        """`end` is called once, when nothing follows any more, even if the generator was never begun."""
        self._begin, self._end = begin, end
        self._is_handed_over = False
        super().__init__(self._in_this_thread(), content_type=content_type)
        self["Cache-Control"] = "no-store"

    def hand_over(self) -> tuple[Callable[[], Pieces], Callable[[], None]]:
        """Return the functions that begin and end the generator. From now on the caller must call both."""
        self._is_handed_over = True
        return self._begin, self._end

    def close(self) -> None:
        super().close()
        if not self._is_handed_over:
            self._end()

    def _in_this_thread(self) -> Iterator[bytes]:
        with asyncio.Runner() as runner:
            pieces = self._begin()
            try:
                while piece := runner.run(anext(pieces, b"")):
                    yield piece
            finally:
                runner.run(pieces.aclose())


class EventStream(AsyncAnswer):
    """Server-sent events: many pieces, and a client may read them slowly."""

    is_endless = True

    def __init__(self, begin: Callable[[], Pieces], *, end: Callable[[], None]) -> None:
        super().__init__(begin, end=end, content_type=EVENT_STREAM)
        self["X-Accel-Buffering"] = "no"


class LaterAnswer(AsyncAnswer):
    """One JSON body, once the wait is over. When the process stops, the wait is over too."""

    is_endless = False

    def __init__(
        self, wait: Callable[[], Awaitable[None]], body: Callable[[], bytes], *, end: Callable[[], None]
    ) -> None:
        """`body` makes the body in a thread; it may be empty."""
        self._wait, self._body = wait, body
        super().__init__(self._after_the_wait, end=end, content_type="application/json")

    async def _after_the_wait(self) -> Pieces:
        try:
            await self._wait()
        except asyncio.CancelledError:
            if task := asyncio.current_task():
                task.uncancel()
        yield await asyncio.to_thread(self._body)
