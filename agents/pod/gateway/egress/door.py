"""The listener that the engine reaches: calls of the key proxy and requests to the egress broker come in at one port.

The first bytes of a connection tell them apart: a target that begins with `/` is the key proxy's. While the agent does
not use the broker, all are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

from aiohttp import web

from agents.pod.gateway.answers import Refusal
from agents.pod.gateway.egress.broker import EgressBroker
from agents.pod.gateway.egress.connect import EngineSide

HEAD_BYTES = 16 * 1024
HEAD_SECONDS = 60.0
LONGEST_METHOD = 20
MOST_CONNECTIONS = 512


class Crowd:
    """The open connections. Their number is limited, so that the engine cannot take all files that the gateway may
    open: its other listeners need some too. Connections that have not said what they want make way for new ones, so
    that they cannot keep out the calls of the model.
    """

    def __init__(self) -> None:
        self._open: set[asyncio.Transport] = set()
        self._silent: dict[asyncio.Transport, None] = {}  # the oldest first

    def admits(self, transport: asyncio.Transport) -> bool:
        if len(self._open) >= MOST_CONNECTIONS:
            self._open = {one for one in self._open if not one.is_closing()}
        if len(self._open) >= MOST_CONNECTIONS and self._silent:
            oldest = next(iter(self._silent))
            self.ends_silence(oldest)
            self._open.discard(oldest)
            oldest.abort()
        if len(self._open) >= MOST_CONNECTIONS:
            return False
        self._open.add(transport)
        self._silent[transport] = None
        return True

    def leaves(self, transport: asyncio.Transport) -> None:
        """A call of the key proxy takes no place: nothing the engine does may keep it out."""
        self._open.discard(transport)

    def ends_silence(self, transport: asyncio.Transport) -> None:
        """It is known what the connection wants, or it is over."""
        self._silent.pop(transport, None)


class Door(asyncio.Protocol):
    """A connection until it is known whose it is."""

    def __init__(self, inner: Callable[[], asyncio.Protocol], broker: EgressBroker, crowd: Crowd) -> None:
        self._inner = inner
        self._broker = broker
        self._crowd = crowd
        self._came = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._late = asyncio.get_running_loop().call_later(HEAD_SECONDS, self._transport.abort)
        if not self._crowd.admits(self._transport):
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_known()

    def data_received(self, data: bytes) -> None:
        self._came += data
        method, space, rest = bytes(self._came[: LONGEST_METHOD + 2]).partition(b" ")
        if not rest and len(self._came) <= LONGEST_METHOD:
            return
        if not space or rest[:1] in b"/*" or not self._broker.is_on:
            self._crowd.leaves(self._transport)
            self._give(self._inner())
        elif method == b"CONNECT":
            self._connect()
        else:
            self._give(self._broker.plain_protocol())

    def _is_known(self) -> None:
        self._late.cancel()
        self._crowd.ends_silence(self._transport)

    def _give(self, protocol: asyncio.Protocol) -> None:
        self._is_known()
        self._transport.set_protocol(protocol)
        protocol.connection_made(self._transport)
        protocol.data_received(bytes(self._came))

    def _connect(self) -> None:
        end = self._came.find(b"\r\n\r\n")
        if end >= 0 and end + 4 <= HEAD_BYTES:
            self._is_known()
            self._transport.pause_reading()
            head, rest = bytes(self._came[: end + 4]), bytes(self._came[end + 4 :])
            self._broker.connect(EngineSide(self._transport), head, rest)
        elif len(self._came) > HEAD_BYTES:
            EngineSide(self._transport).refuse(Refusal(431, f"the head has more than {HEAD_BYTES} bytes"))


class DoorSite(web.BaseSite):
    """Listens for the key proxy's runner, with a Door before it."""

    def __init__(self, runner: web.AppRunner, broker: EgressBroker, host: str, port: int) -> None:
        super().__init__(runner)
        self._broker, self._host, self._port = broker, host, port
        self._crowd = Crowd()

    @property
    def name(self) -> str:
        return f"http://{self._host}:{self._port}"

    async def start(self) -> None:
        await super().start()
        inner = cast("web.Server", self._runner.server)
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: Door(inner, self._broker, self._crowd), self._host, self._port, backlog=128
        )
