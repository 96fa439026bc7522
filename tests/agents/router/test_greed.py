"""How much of the router one visitor, or all visitors of one agent, can use. The router is shared by all agents."""

from __future__ import annotations

import asyncio
import struct
import zlib
from contextlib import suppress
from typing import Any

import aiohttp
import pytest
from aiohttp.test_utils import TestClient

from agents.models import Agent
from agents.router import proxy
from tests.agents.router.test_proxy import ListenerPod, between

OPENING = (
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\nSec-WebSocket-Extensions: permessage-deflate\r\n"
)
TEXT, MORE, PACKED = 0x01, 0x00, 0x40
Line = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def asked(client: TestClient[Any, Any], host: str, path: str, headers: str = "") -> Line:
    """A raw connection, not a browser's, after the headers of the answer."""
    reader, writer = await asyncio.open_connection(client.host, client.port, limit=65_536)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n{headers}\r\n".encode())
    await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)
    return reader, writer


def frame(kind: int, payload: bytes, *, last: bool = True) -> bytes:
    head = bytes([kind | (0x80 if last else 0), 0x80 | 127]) + struct.pack(">Q", len(payload))
    return head + bytes(4) + payload


async def close_code(reader: asyncio.StreamReader) -> int:
    """The code of the next frame, which must be a close frame."""
    head = await asyncio.wait_for(reader.readexactly(4), 10)
    assert head[0] == 0x88, head
    return int.from_bytes(head[2:4])


def test_a_packed_message_does_not_go_off_in_the_router(host: str, running: Agent) -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    bomb = packer.compress(bytes(4 * 1024 * 1024)) + packer.flush(zlib.Z_SYNC_FLUSH)

    async def scenario(client: TestClient[Any, Any], pod: ListenerPod) -> None:
        reader, writer = await asked(client, host, "/socket", OPENING)
        writer.write(frame(TEXT | PACKED, bomb))
        assert await close_code(reader) == aiohttp.WSCloseCode.PROTOCOL_ERROR
        writer.close()

    between(running, scenario)


def test_a_message_that_does_not_end_is_not_gathered(
    host: str, running: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proxy, "MESSAGE_BYTES", 100_000)

    async def scenario(client: TestClient[Any, Any], pod: ListenerPod) -> None:
        reader, writer = await asked(client, host, "/socket", OPENING)
        writer.write(frame(TEXT, bytes(60_000), last=False) + frame(MORE, bytes(60_000), last=False))
        assert await close_code(reader) == aiohttp.WSCloseCode.MESSAGE_TOO_BIG
        writer.close()

    between(running, scenario)


def test_who_sends_nothing_but_pings_is_cut_off_and_holds_up_nobody(host: str, running: Agent) -> None:
    """Empty pings cost six bytes, and the library answers all of them before it does anything else."""

    async def scenario(client: TestClient[Any, Any], pod: ListenerPod) -> None:
        reader, writer = await asked(client, host, "/socket", OPENING)
        writer.write(bytes([0x89, 0x80, 0, 0, 0, 0]) * 50_000)
        async with client.get("/", headers={"Host": host}) as reply:
            assert reply.status == 207
        with suppress(ConnectionResetError):
            async with asyncio.timeout(10):
                while await reader.read(65_536):
                    pass
        writer.close()

    between(running, scenario)


@pytest.mark.parametrize("headers", ["", OPENING])
def test_who_reads_nothing_does_not_keep_his_place(
    host: str, running: Agent, headers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("WRITE_SECONDS", "CLOSE_SECONDS"):
        monkeypatch.setattr(proxy, name, 0.5)
    monkeypatch.setattr(proxy, "MOST_OF_ONE_AGENT", 1)

    async def scenario(client: TestClient[Any, Any], pod: ListenerPod) -> None:
        _, writer = await asked(client, host, "/flood", headers)
        assert await status_once_free(client, host) == 207
        if headers:
            await asyncio.wait_for(pod.gone.wait(), 5)
        writer.transport.abort()

    between(running, scenario)


async def status_once_free(client: TestClient[Any, Any], host: str) -> int:
    for _ in range(100):
        async with client.get("/", headers={"Host": host}) as reply:
            if reply.status != 503:
                return reply.status
        await asyncio.sleep(0.1)
    return 503


def test_the_visitors_of_one_agent_are_so_many_at_once(
    host: str, running: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proxy, "MOST_OF_ONE_AGENT", 2)

    async def scenario(client: TestClient[Any, Any], pod: ListenerPod) -> None:
        _, first = await asked(client, host, "/stream")
        _, second = await asked(client, host, "/socket", OPENING)
        async with client.get("/", headers={"Host": host}) as reply:
            assert (reply.status, reply.headers["Retry-After"]) == (503, "10")
        async with client.get("/", headers={"Host": "nobody.pods.localhost"}) as reply:
            assert reply.status == 404
        first.close()
        assert await status_once_free(client, host) == 207
        second.close()

    between(running, scenario)


def test_a_socket_that_the_pod_refuses_is_refused_with_its_status(host: str, running: Agent) -> None:
    async def scenario(client: TestClient[Any, Any], pod: ListenerPod) -> None:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await client.ws_connect("/refuses", headers={"Host": host})
        assert refused.value.headers
        assert (refused.value.status, refused.value.headers["Retry-After"]) == (429, "5")

    between(running, scenario)
