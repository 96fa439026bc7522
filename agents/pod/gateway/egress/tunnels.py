"""Plain tunnels: bytes go both ways as they are. The gateway sees the name that TLS asks for, and nothing inside."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from agents.pod.gateway.egress import client_hello
from agents.pod.gateway.egress.dialling import BUFFER_BYTES, Streams
from agents.pod.gateway.egress.hosts import TLS_PORT, Target
from agents.pod.gateway.egress.visits import HostVisit

IDLE_SECONDS = 300.0
HELLO_SECONDS = 15.0
MOST_PIECES = 64  # each is read with all before it
LAST_BYTES_SECONDS = 5.0
LOOK_SECONDS = 1.0  # how soon a change of the owner's rules ends a tunnel


class OtherNameError(Exception):
    """The client asks the host for another name than it has told the broker, or does not speak TLS."""


async def checked_hello(client: asyncio.StreamReader, target: Target) -> bytes:
    """The first bytes of the client. Raises OtherNameError unless TLS asks for the target's own name.

    A host at a shared address serves others too: without this check, one allowed name would open all of them.
    """
    data = b""
    try:
        async with asyncio.timeout(HELLO_SECONDS):
            for _ in range(MOST_PIECES):
                piece = await client.read(BUFFER_BYTES)
                data += piece
                if not piece or not client_hello.is_tls(data) or len(data) > client_hello.MOST_BYTES:
                    break
                with suppress(client_hello.IncompleteError):
                    if client_hello.server_name(data) == target.host:
                        return data
                    raise OtherNameError
    except TimeoutError as error:
        raise OtherNameError from error
    if client_hello.is_tls(data) or target.port == TLS_PORT:
        raise OtherNameError
    return data


async def run(
    client: Streams, host: Streams, visit: HostVisit, *, first: bytes, is_allowed: Callable[[], bool]
) -> None:
    """Pass bytes both ways until both sides have ended, one has broken off, nothing came for IDLE_SECONDS, or the
    owner does not allow it any more.
    """
    visit.went(sent=len(first))
    host[1].write(first)
    pumps = [
        asyncio.create_task(_pump(client[0], host[1], visit, is_sent=True)),
        asyncio.create_task(_pump(host[0], client[1], visit, is_sent=False)),
    ]
    try:
        await _until_over(pumps, visit, is_allowed)
    finally:
        for pump in pumps:
            pump.cancel()
        for _, writer in (client, host):
            writer.close()  # at once: this task may be cancelled while it waits
        await asyncio.gather(*pumps, return_exceptions=True)
        await asyncio.gather(_end(client[1]), _end(host[1]))


async def _end(writer: asyncio.StreamWriter) -> None:
    """Close the connection. A side that does not take what is left for it is cut off."""
    writer.close()
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(LAST_BYTES_SECONDS):
            await writer.wait_closed()
    writer.transport.abort()


async def _until_over(pumps: list[asyncio.Task[None]], visit: HostVisit, is_allowed: Callable[[], bool]) -> None:
    loop, waiting = asyncio.get_running_loop(), set(pumps)
    while waiting and is_allowed():
        left = visit.last + IDLE_SECONDS - loop.time()
        if left <= 0:
            return
        waits = min(left, LOOK_SECONDS)
        done, waiting = await asyncio.wait(waiting, timeout=waits, return_when=asyncio.FIRST_COMPLETED)
        if any(pump.exception() for pump in done):
            return


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, visit: HostVisit, *, is_sent: bool) -> None:
    while piece := await reader.read(BUFFER_BYTES):
        writer.write(piece)
        visit.went(**{"sent" if is_sent else "received": len(piece)})
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()
