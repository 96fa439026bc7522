"""Answers that last as long as their client likes. The server's event loop writes them, without a thread."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator

from django.http import StreamingHttpResponse

EVENT_STREAM = "text/event-stream"
Pieces = AsyncGenerator[bytes, None]


class EventStream(StreamingHttpResponse):
    """Server-sent events from an asynchronous generator.

    `config/serving` takes the generator over and frees the thread. Other servers, such as a test's, read it in their
    thread.
    """

    def __init__(self, begin: Callable[[], Pieces], *, end: Callable[[], None]) -> None:
        """`end` is called once, when nothing follows any more, even if the generator was never begun."""
        self._begin, self._end = begin, end
        self._is_handed_over = False
        super().__init__(self._in_this_thread(), content_type=EVENT_STREAM)
        self["Cache-Control"] = "no-store"
        self["X-Accel-Buffering"] = "no"

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
