"""Answers that come later, or last as long as their client likes. The server's event loop writes them, without a
thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing
from contextvars import Context, copy_context
from dataclasses import dataclass, field

from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase

EVENT_STREAM = "text/event-stream"
Pieces = AsyncGenerator[bytes, None]


class AsyncAnswer(StreamingHttpResponse):
    """An answer that an asynchronous generator writes.

    `config/serving` takes the generator over and frees the thread. Other servers, such as a test's, read it in their
    thread.
    """

    is_endless: bool
    context: Context | None = None  # of the generator
    may_finish = False  # when the process stops; other answers end then

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
        self, wait: Callable[[], Awaitable[None]], body: Callable[[LaterAnswer], bytes], *, end: Callable[[], None]
    ) -> None:
        """`body` makes the body in a thread; it may be empty. It may also set headers of the answer that it gets."""
        self._wait, self._body = wait, body
        super().__init__(self._after_the_wait, end=end, content_type="application/json")

    def head(self) -> tuple[int, list[tuple[str, str]]]:
        """The status and the headers, once the body is there."""
        return self.status_code, list(self.items())

    async def _after_the_wait(self) -> Pieces:
        try:
            await self._wait()
        except asyncio.CancelledError:
            if task := asyncio.current_task():
                task.uncancel()
        yield await asyncio.to_thread(self._body, self)


@dataclass(frozen=True, slots=True)
class Beginning:
    """How a promised answer begins. `body` is all of it, unless `rest` follows as a stream."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    rest: Pieces | None = None


Promise = Callable[[], AbstractAsyncContextManager[Beginning]]


class PromisedAnswer(AsyncAnswer):
    """An answer of which even the status comes later: a turn with an agent may fail before its first word.

    What `promise` raises at its beginning is told by `refused`. When the process stops, the answer may still end.
    """

    may_finish = True

    def __init__(self, promise: Promise, *, refused: Callable[[Exception], Beginning], end: Callable[[], None]) -> None:
        self._promise, self._refused, self._end_of_promise = promise, refused, end
        self._is_known = False
        self._then: list[Callable[[], None]] = []
        self.is_endless = False
        self.context = copy_context()
        super().__init__(self._kept, end=self._over, content_type="application/json")
        del self["Cache-Control"]

    def when_known(self, then: Callable[[], None]) -> None:
        self._then.append(then)

    def head(self) -> tuple[int, list[tuple[str, str]]]:
        """The status and the headers, once the first piece is there."""
        return self.status_code, list(self.items())

    async def _kept(self) -> Pieces:
        async with AsyncExitStack() as stack:
            try:
                beginning = await stack.enter_async_context(self._promise())
            except Exception as error:  # noqa: BLE001 # any failure is an answer, as in other views
                beginning = self._refused(error)
            self._begin_with(beginning)
            yield beginning.body
            if beginning.rest is not None:
                async with aclosing(beginning.rest) as pieces:
                    async for piece in pieces:
                        yield piece

    def _begin_with(self, beginning: Beginning) -> None:
        self.status_code, self.is_endless = beginning.status, beginning.rest is not None
        for name, value in beginning.headers.items():
            self[name] = value
        self._tell()

    def _tell(self) -> None:
        self._is_known = True
        for then in self._then:
            then()

    def _over(self) -> None:
        """Nothing follows. A client that hung up before the beginning got no answer, which counts as a failure."""
        try:
            if not self._is_known and self.context:
                self.status_code = 503
                self.context.run(self._tell)
        finally:
            self._end_of_promise()


class PromiseHere:
    """A promise that this thread keeps, for servers that would not take the answer over."""

    def __init__(self, promise: Promise, *, end: Callable[[], None]) -> None:
        """Wait for the beginning. Raises what the promise raises."""
        self._stack, self._end = AsyncExitStack(), end
        self._runner = asyncio.Runner()
        self._is_open = True
        try:
            self.beginning = self._runner.run(self._stack.enter_async_context(promise()))
        except BaseException:
            self.close()
            raise

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        rest = self.beginning.rest
        piece = self._runner.run(anext(rest, b"")) if self._is_open and rest else b""
        if not piece:
            self.close()
            raise StopIteration
        return piece

    def close(self) -> None:
        if not self._is_open:
            return
        self._is_open = False
        try:
            self._runner.run(self._closed())
        finally:
            self._runner.close()
            self._end()

    async def _closed(self) -> None:
        beginning = getattr(self, "beginning", None)
        if beginning and beginning.rest:
            await beginning.rest.aclose()
        await self._stack.aclose()


def when_known(response: HttpResponseBase, then: Callable[[], None]) -> None:
    """Call `then` when the response has its status: now, or later if it is a promised one."""
    if isinstance(response, PromisedAnswer):
        response.when_known(then)
    else:
        then()
