"""One connection of the engine that began with CONNECT: its head, and what becomes of it."""

from __future__ import annotations

import asyncio
import re
import ssl
from dataclasses import dataclass
from http import HTTPStatus

from agents.pod.gateway.answers import Refusal
from agents.pod.gateway.egress.dialling import BUFFER_BYTES, Streams

_LINE = re.compile(r"CONNECT ([!-~]{1,512}) HTTP/1\.[01]")
_HEADER = re.compile(r"([A-Za-z0-9!#$%&'*+.^_`|~-]+):[ \t]*([\t -~\x80-\xff]*)")
_ACCEPTED = b"HTTP/1.1 200 Connection established\r\n\r\n"


@dataclass(frozen=True, slots=True)
class ConnectHead:
    """The head of a CONNECT."""

    target: str
    authorization: str | None

    @classmethod
    def read(cls, head: bytes) -> ConnectHead:
        """Raises Refusal."""
        first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
        line = _LINE.fullmatch(first)
        headers = [_HEADER.fullmatch(one) for one in lines]
        if line is None or not all(headers):
            raise Refusal(400, "the request is not HTTP/1.1")
        shown = [one[2].strip() for one in headers if one and one[1].lower() == "proxy-authorization"]
        if len(shown) > 1:
            raise Refusal(400, "Proxy-Authorization: comes twice")
        return cls(line[1], shown[0] if shown else None)


class EngineSide:
    """The engine's side of the connection."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport

    def accept(self, rest: bytes) -> Streams:
        """Say yes, and take the connection as streams. `rest` came with the head."""
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=BUFFER_BYTES, loop=loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
        self._transport.set_protocol(protocol)
        protocol.connection_made(self._transport)
        if rest:
            reader.feed_data(rest)
        self._transport.write(_ACCEPTED)
        self._transport.resume_reading()
        return reader, asyncio.StreamWriter(self._transport, protocol, reader, loop)

    async def start_tls(
        self, protocol: asyncio.Protocol, context: ssl.SSLContext, *, seconds: float
    ) -> asyncio.Transport:
        """Say yes, be the server of a TLS connection, and give it to this protocol. Raises OSError."""
        self._transport.write(_ACCEPTED)
        loop = asyncio.get_running_loop()
        made = await loop.start_tls(
            self._transport,
            protocol,
            context,
            server_side=True,
            ssl_handshake_timeout=seconds,
            ssl_shutdown_timeout=2.0,
        )
        if made is None:
            raise ConnectionResetError
        protocol.connection_made(made)
        return made

    def refuse(self, refusal: Refusal) -> None:
        if self._transport.is_closing():
            return
        body = f"egress: {refusal.message}\n".encode()
        status = HTTPStatus(refusal.status)
        lines = [
            f"HTTP/1.1 {status} {status.phrase}",
            *(f"{name}: {value}" for name, value in refusal.headers.items()),
            "Content-Type: text/plain; charset=utf-8",
            f"Content-Length: {len(body)}",
            "Connection: close",
        ]
        self._transport.write("\r\n".join([*lines, "", ""]).encode() + body)
        self._transport.close()

    def abort(self) -> None:
        self._transport.abort()
