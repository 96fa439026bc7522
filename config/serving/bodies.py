"""Reads the body of a request completely before a thread is used, so a slow client costs only a connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus

from granian._granian import RSGIHTTPProtocol as HTTPProtocol
from granian.rsgi import Scope

# The longest body of any endpoint (bytes). Most endpoints allow less (config/parsing.py).
MAX_BYTES = 1_048_576
# A body must arrive within 25 s. After the first 5 s it must have come at 500 bytes a second or faster.
TOTAL_SECONDS = 25.0
GRACE_SECONDS = 5.0
BYTES_PER_SECOND = 500
# If this process was busy and notices a deadline this late, it moves the deadline by a second.
LATE_SECONDS = 0.25
AGAIN_SECONDS = 1.0
# All bodies together may use this much memory beyond their first 64 KiB each (bytes).
FREE_BYTES = 65_536
SHARED_BYTES = 67_108_864
RETRY_AFTER_SECONDS = 5


class BodyRefused(Exception):
    """A body that is not read. The connection closes after the answer."""

    def __init__(self, status: HTTPStatus, message: str, *, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.retry_after = retry_after


class Bodies:
    """Reads the bodies of one process and counts the memory that they use."""

    def __init__(self) -> None:
        self._shared = 0  # bytes of SHARED_BYTES in use

    @asynccontextmanager
    async def read(self, scope: Scope, proto: HTTPProtocol) -> AsyncIterator[bytes]:
        """Read the whole body. Its memory counts until the context ends.

        Raises Refused for a body that is too long, too slow, or that ends early.
        """
        body = bytearray()
        try:
            length = _length(scope)
            if length is None or length > 0:
                await self._fill(body, proto, length)
            yield bytes(body)
        finally:
            self._shared -= _beyond(len(body))

    async def _fill(self, body: bytearray, proto: HTTPProtocol, length: int | None) -> None:
        if length is not None and length > MAX_BYTES:
            raise _too_large()
        deadline = _Deadline()
        try:
            async with deadline.timeout:
                await self._collect(body, proto, deadline)
        except TimeoutError as error:
            message = f"body: only {len(body)} bytes came in time; send it within {TOTAL_SECONDS:.0f} s"
            raise BodyRefused(HTTPStatus.REQUEST_TIMEOUT, message) from error
        finally:
            deadline.drop()
        if length is not None and len(body) != length:
            raise BodyRefused(HTTPStatus.BAD_REQUEST, f"body: ended after {len(body)} of {length} bytes")

    async def _collect(self, body: bytearray, proto: HTTPProtocol, deadline: _Deadline) -> None:
        async for piece in proto:
            self._shared += _beyond(len(body) + len(piece)) - _beyond(len(body))
            body += piece
            if len(body) > MAX_BYTES:
                raise _too_large()
            if self._shared > SHARED_BYTES and len(body) > FREE_BYTES:
                message = f"too many large bodies at once: try again in {RETRY_AFTER_SECONDS} s"
                raise BodyRefused(HTTPStatus.SERVICE_UNAVAILABLE, message, retry_after=RETRY_AFTER_SECONDS)
            deadline.earn(len(body))


class _Deadline:
    """The deadline of one body. It ends the reading through `timeout`."""

    def __init__(self) -> None:
        self.timeout = asyncio.timeout(None)
        self._loop = asyncio.get_running_loop()
        self._begun = self._loop.time()
        self._at = self._begun + GRACE_SECONDS
        self._timer = self._loop.call_at(self._at, self._look)

    def earn(self, came: int) -> None:
        """Move the deadline: `came` bytes have arrived so far."""
        self._at = self._begun + min(TOTAL_SECONDS, GRACE_SECONDS + came / BYTES_PER_SECOND)

    def drop(self) -> None:
        self._timer.cancel()

    def _look(self) -> None:
        now = self._loop.time()
        if now - self._timer.when() > LATE_SECONDS:  # there may be bytes that have arrived and are not read yet
            self._at = max(self._at, now + AGAIN_SECONDS)
        if self._at > now:
            self._timer = self._loop.call_at(self._at, self._look)
        else:
            self.timeout.reschedule(now)


def _length(scope: Scope) -> int | None:
    """The value of Content-Length; None for a body in chunks.

    The server has already refused a length that is no number.
    """
    if scope.headers.get("transfer-encoding"):
        return None
    return int(scope.headers.get("content-length") or 0)


def _beyond(length: int) -> int:
    return max(0, length - FREE_BYTES)


def _too_large() -> BodyRefused:
    return BodyRefused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"body: larger than {MAX_BYTES} bytes")
