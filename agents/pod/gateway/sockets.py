"""Forwards WebSockets of the engine's own page for as long as the visitor is signed in."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

import aiohttp
from aiohttp import WSCloseCode, web
from yarl import URL

from agents.pod.gateway.answers import Refusal
from agents.pod.logs.budget import Budget

MOST_SOCKETS = 16
MESSAGE_BYTES = 8 * 1024 * 1024
CONNECT_SECONDS = 10.0
CLOSE_SECONDS = 5.0
# If a visitor disappears without closing, the gateway notices it after one and a half heartbeats.
HEARTBEAT_SECONDS = 30.0
IDLE_SECONDS = 600.0  # without a message from either side
# The limit of one side's messages. Pings count too, because empty pings cost their sender almost nothing.
MESSAGES_AT_ONCE, MESSAGES_PER_SECOND = 2_000.0, 200.0
WATCH_SECONDS = 1.0
LOOK_SECONDS = 0.1
# Close codes that may be sent. 1005, 1006 and 1015 only mean that no code was sent.
_SAYABLE = {*range(1000, 1004), *range(1007, 1015), *range(3000, 5000)}

Socket = web.WebSocketResponse | aiohttp.ClientWebSocketResponse


class Sockets:
    """Forwards messages in both directions, one after the other. A visitor who does not read also stops the engine's
    side.
    """

    def __init__(self, client: aiohttp.ClientSession) -> None:
        self._client = client
        self._open = 0
        self._ending = asyncio.Event()

    async def end(self) -> None:
        """Close all connections because the gateway ends. The visitors may connect again."""
        self._ending.set()

    async def pass_on(
        self, request: web.Request, url: URL, headers: Mapping[str, str], *, may_stay: Callable[[], bool]
    ) -> web.StreamResponse:
        """Forward messages until one side closes, or until `may_stay` returns False. The other side gets the close
        code. Raises Refusal.
        """
        if self._open >= MOST_SOCKETS:
            raise Refusal(429, f"at most {MOST_SOCKETS} connections at once", Retry_After="5")
        self._open += 1
        try:
            return await self._pass_on(request, url, headers, may_stay)
        finally:
            self._open -= 1

    async def _pass_on(
        self, request: web.Request, url: URL, headers: Mapping[str, str], may_stay: Callable[[], bool]
    ) -> web.StreamResponse:
        # Without compression, a small message cannot become a large one when it is unpacked.
        reader = web.WebSocketResponse(
            max_msg_size=MESSAGE_BYTES,
            heartbeat=HEARTBEAT_SECONDS,
            timeout=CLOSE_SECONDS,
            autoclose=False,
            autoping=False,
            compress=False,
        )
        if not reader.can_prepare(request).ok:
            raise Refusal(400, "not the opening of a WebSocket of version 13")
        async with asyncio.timeout(CONNECT_SECONDS):
            engine = await self._client.ws_connect(
                url,
                headers=headers,
                max_msg_size=MESSAGE_BYTES,
                autoclose=False,
                autoping=False,
                compress=0,
                timeout=aiohttp.ClientWSTimeout(ws_close=CLOSE_SECONDS),
            )
        async with engine:
            await reader.prepare(request)
            transport = request.transport
            await _Passage(reader, engine, may_stay, self._ending, transport).run()
        await let_go(transport, seconds=CLOSE_SECONDS)
        return reader


async def let_go(transport: asyncio.Transport | None, *, seconds: float) -> None:
    """Wait until the visitor has read all that was sent; after `seconds` throw the rest away. A plain close would keep
    the data for as long as the visitor likes.
    """
    until = time.monotonic() + seconds
    while transport is not None and transport.get_write_buffer_size():
        if time.monotonic() >= until:
            transport.abort()
            return
        await asyncio.sleep(LOOK_SECONDS)


async def receive(source: Socket, budget: Budget, transport: asyncio.Transport | None) -> aiohttp.WSMessage:
    """The next message. A side that sends more than its budget is cut off. `transport` is the visitor's connection.
    Pings are answered here, because the library would answer all waiting pings before anything else can run.
    """
    while True:
        message = await source.receive()
        if not budget.take():
            _cut(source, transport)
            return aiohttp.WSMessage(aiohttp.WSMsgType.CLOSED, None, None)
        if message.type is aiohttp.WSMsgType.PING:
            await source.pong(message.data)
        elif message.type is not aiohttp.WSMsgType.PONG:
            return message


def _cut(source: Socket, transport: asyncio.Transport | None) -> None:
    """Cut the connection at once. A normal close would read on until the other side has closed too."""
    if isinstance(source, aiohttp.ClientWebSocketResponse):
        source._response.close()  # noqa: SLF001 # there is no other way
    elif transport is not None:
        transport.abort()


class _Passage:
    def __init__(
        self,
        reader: web.WebSocketResponse,
        engine: aiohttp.ClientWebSocketResponse,
        may_stay: Callable[[], bool],
        ending: asyncio.Event,
        transport: asyncio.Transport | None,
    ) -> None:
        """`transport` is the visitor's connection."""
        self._reader = reader
        self._engine = engine
        self._may_stay = may_stay
        self._ending = ending
        self._transport = transport
        self._last = time.monotonic()

    async def run(self) -> None:
        ways = [
            asyncio.ensure_future(self._pump(self._reader, self._engine)),
            asyncio.ensure_future(self._pump(self._engine, self._reader)),
            asyncio.ensure_future(self._watch()),
        ]
        code: int = WSCloseCode.GOING_AWAY
        try:
            done, _ = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            code = next((way.result() for way in done if not way.exception()), code)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            await asyncio.gather(self._engine.close(code=code), self._reader.close(code=code), return_exceptions=True)

    async def _pump(self, source: Socket, target: Socket) -> int:
        """Forward messages until this side ends. Returns the close code for the other side."""
        budget = Budget(rate=MESSAGES_PER_SECOND, burst=MESSAGES_AT_ONCE)
        while True:
            message = await receive(source, budget, self._transport)
            if message.type is aiohttp.WSMsgType.TEXT:
                await target.send_str(message.data)
            elif message.type is aiohttp.WSMsgType.BINARY:
                await target.send_bytes(message.data)
            else:
                said = source.close_code
                return said if said is not None and said in _SAYABLE else WSCloseCode.GOING_AWAY
            self._last = time.monotonic()

    async def _watch(self) -> int:
        while not self._ending.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), WATCH_SECONDS)
            if not self._may_stay():
                return WSCloseCode.POLICY_VIOLATION
            if time.monotonic() - self._last > IDLE_SECONDS:
                break
        return WSCloseCode.GOING_AWAY
