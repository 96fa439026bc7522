"""One HTTP request and the protocol's answer to it.

The protocol runs on an event loop (mcp_server/loop.py). What a tool does runs in the thread that brought the request:
so a slow tool holds no loop, and limits, hang-ups and database connections are those of any other request.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import aclosing
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from config.errors import Unavailable
from config.streams import AsyncAnswer, LaterAnswer
from mcp_server import loop

log = logging.getLogger(__name__)

KEY = "agentpods.exchange"  # in the ASGI scope
PROTOCOL_SECONDS = 30.0  # for the protocol's own work, without the tool's
HURRY_SECONDS = 10.0
UNSEEN = {"authorization", "cookie"}  # headers that the protocol's library has no use for

T = TypeVar("T")


class Exchange:
    def __init__(self, request: HttpRequest, body: bytes) -> None:
        self.request = request
        self._given = body
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()  # None: no job follows
        self._is_later = False
        self._waiting: asyncio.Task[bytes] | None = None
        self._status, self._headers = 500, dict[str, str]()
        self._body = bytearray()
        self._done: Future[None] = Future()

    def answer(self) -> HttpResponseBase:
        """In the request's thread: do what the protocol asks for, until there is an answer, or only waiting is left."""
        self._done = loop.submit(self._run())
        try:
            while job := self._jobs.get(timeout=PROTOCOL_SECONDS):
                job()
        except Empty as error:
            self._done.cancel()
            raise Unavailable("the protocol takes too long: try again") from error
        if self._is_later:
            return LaterAnswer(self._until_done, self._body_now, end=self._end)
        return HttpResponse(bytes(self._body), status=self._status, headers=self._headers)

    async def in_thread(self, work: Callable[[], T]) -> T:
        """On the loop: let the request's thread do this work."""
        told: Future[T] = Future()

        def job() -> None:
            told.set_running_or_notify_cancel()
            try:
                told.set_result(work())
            except Exception as error:  # noqa: BLE001 # the one who waits gets it
                told.set_exception(error)

        self._jobs.put(job)
        return await asyncio.wrap_future(told)

    async def until_settled(self, later: AsyncAnswer) -> bytes:
        """On the loop: wait for this answer's body. The request's thread is free from now on."""
        begin, end = later.hand_over()
        self._waiting = asyncio.ensure_future(_first(begin))
        self._is_later = True
        self._jobs.put(None)
        try:
            return await self._waiting
        finally:
            self._waiting.cancel()
            end()

    async def _run(self) -> None:
        try:
            await loop.handle(self._scope(), self._receive, self._send)
        except Exception:
            log.exception("a message of MCP was not answered")
            self._status = 500
        finally:
            self._jobs.put(None)

    def _scope(self) -> dict[str, Any]:
        headers = [
            (name.lower().encode("latin-1"), value.encode("latin-1", "replace"))
            for name, value in self.request.headers.items()
            if name.lower() not in UNSEEN
        ]
        return {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "POST",
            "scheme": self.request.scheme,
            "path": "/mcp",
            "raw_path": b"/mcp",
            "root_path": "",
            "query_string": b"",
            "headers": headers,
            KEY: self,
        }

    async def _receive(self) -> dict[str, Any]:
        given, self._given = self._given, b""
        if given:
            return {"type": "http.request", "body": given, "more_body": False}
        return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return]  # it never comes

    async def _send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._headers = {
                name.decode("latin-1"): value.decode("latin-1")
                for name, value in message.get("headers", [])
                if name.lower() != b"content-length"
            }
            self._headers.setdefault("Cache-Control", "no-store")
        else:
            self._body += message.get("body", b"")

    async def _until_done(self) -> None:
        """On the server's loop, after the request's thread has left."""
        await asyncio.shield(asyncio.wrap_future(self._done))

    def _body_now(self, _: LaterAnswer) -> bytes:
        """The body, soon: where the process stops, the wait is cut short."""
        if self._waiting is not None:
            self._waiting.get_loop().call_soon_threadsafe(self._waiting.cancel)
        self._done.result(HURRY_SECONDS)
        return bytes(self._body)

    def _end(self) -> None:
        self._done.cancel()


async def _first(begin: Callable[[], Any]) -> bytes:
    async with aclosing(begin()) as pieces:
        found: bytes = await anext(pieces, b"")
        return found
