"""Answers that go on for as long as their client likes: written by the server's event loop, without a thread."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator

from django.http import StreamingHttpResponse

EVENT_STREAM = "text/event-stream"
Pieces = AsyncGenerator[bytes, None]


class Following(StreamingHttpResponse):
    """Server-sent events of an asynchronous generator.

    `config/serving` takes the generator over and lets the thread go. A server that does not, such as that of a test,
    reads it in its thread.
    """

    def __init__(self, begin: Callable[[], Pieces], *, end: Callable[[], None]) -> None:
        """`end` is called once, when nothing follows any more, whether the generator was begun or not."""
        self._begin, self._end = begin, end
        self._is_handed_over = False
        super().__init__(self._in_this_thread(), content_type=EVENT_STREAM)
        self["Cache-Control"] = "no-store"
        self["X-Accel-Buffering"] = "no"

    def hand_over(self) -> tuple[Callable[[], Pieces], Callable[[], None]]:
        """How to begin it, and what to call at its end: from now on the affair of who calls this."""
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
