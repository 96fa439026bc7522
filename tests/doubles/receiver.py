"""A webhook receiver on loopback that can be as rude as the internet: it records requests and answers as a test says.

It writes HTTP by hand, because no HTTP library would send most of these answers.
"""

from __future__ import annotations

import asyncio
import ssl
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field

START_SECONDS = 10


@dataclass(frozen=True, slots=True)
class ReceivedHook:
    """One request as it arrived."""

    path: str
    headers: list[tuple[str, str]]
    body: bytes
    at: float  # monotonic seconds

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)


Behaviour = Callable[[asyncio.StreamWriter], Awaitable[None]]


def status(code: int, *headers: str, body: bytes = b"") -> Behaviour:
    """Answer with this status. A client must not use the connection again: it is closed after each answer."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        lines = [f"HTTP/1.1 {code} Whatever", f"Content-Length: {len(body)}", "Connection: close", *headers, "", ""]
        writer.write("\r\n".join(lines).encode() + body)
        await writer.drain()

    return answer


def raw(*chunks: bytes, pause: float = 0.0, repeat: bool = False) -> Behaviour:
    """Send these bytes with a pause (seconds) after each; again and again if `repeat`."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        while True:
            for chunk in chunks:
                writer.write(chunk)
                await writer.drain()
                await asyncio.sleep(pause)
            if not repeat:
                return

    return answer


async def hang(writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(3600)


def after(seconds: float, then: Behaviour) -> Behaviour:
    """Answer after this many seconds."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(seconds)
        await then(writer)

    return answer


def held(release: threading.Event, *, then: Behaviour) -> Behaviour:
    """Answer after the test sets `release`."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        await asyncio.to_thread(release.wait)
        await then(writer)

    return answer


@dataclass
class Receiver:
    """Each of `behaviours` answers one request, in order; the last one answers all further requests."""

    behaviours: list[Behaviour] = field(default_factory=lambda: [status(204)])
    tls: ssl.SSLContext | None = None
    host: str = "127.0.0.1"
    received: list[ReceivedHook] = field(default_factory=list)
    connections: int = 0
    in_hand: int = 0
    peak: int = 0  # the largest number of requests at the same time
    port: int = 0
    _transports: list[asyncio.WriteTransport] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://{self.host}:{self.port}/hook"

    def answers(self, *behaviours: Behaviour) -> None:
        """Replace all behaviours."""
        self.behaviours = list(behaviours)

    @contextmanager
    def listening(self) -> Iterator[Receiver]:
        """Serve in a thread until the block ends; then open connections are dropped."""
        ready = threading.Event()
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=self._serve, args=(loop, ready), daemon=True)
        thread.start()
        if not ready.wait(START_SECONDS):
            raise RuntimeError("the receiver did not start")
        try:
            yield self
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(START_SECONDS)

    def _serve(self, loop: asyncio.AbstractEventLoop, ready: threading.Event) -> None:
        with closing(loop):
            server = loop.run_until_complete(
                asyncio.start_server(self._handle, "127.0.0.1", self.port, ssl=self.tls, limit=2**20)
            )
            self.port = server.sockets[0].getsockname()[1]
            ready.set()
            loop.run_forever()
            for listener in server.sockets:
                loop.remove_reader(listener.fileno())
            loop.run_until_complete(_some_rounds())  # otherwise a connection that was just accepted would stay unclosed
            server.close()
            loop.run_until_complete(_end_all(self._transports))

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._transports.append(writer.transport)
        with suppress(ConnectionError, asyncio.IncompleteReadError, ssl.SSLError, asyncio.CancelledError):
            await self._answer(reader, writer)
        writer.transport.abort() if writer.is_closing() else writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.received.append(await _read(reader))
        self.in_hand += 1
        self.peak = max(self.peak, self.in_hand)
        try:
            await self._next()(writer)
        finally:
            self.in_hand -= 1

    def _next(self) -> Behaviour:
        return self.behaviours.pop(0) if len(self.behaviours) > 1 else self.behaviours[0]


async def _end_all(transports: list[asyncio.WriteTransport]) -> None:
    """Cancel the running tasks and close their sockets, so that the loop can close."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    for transport in transports:
        transport.abort()
    await _some_rounds()


async def _some_rounds() -> None:
    """Let the loop run a few times: it makes new connections and releases closed sockets only in later rounds."""
    for _ in range(3):
        await asyncio.sleep(0)


async def _read(reader: asyncio.StreamReader) -> ReceivedHook:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    request_line, *lines = head.rstrip("\r\n").split("\r\n")
    headers = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    length = next((int(value) for name, value in headers if name.lower() == "content-length"), 0)
    body = await reader.readexactly(length)
    return ReceivedHook(request_line.split(" ")[1], headers, body, time.monotonic())
