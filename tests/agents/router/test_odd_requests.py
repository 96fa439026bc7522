"""Requests that no browser sends: the router refuses them or passes them on, and never fails."""

from __future__ import annotations

import asyncio
import gzip
from typing import Any

import pytest
from aiohttp.test_utils import TestClient

from agents.models import Agent
from tests.agents.router.test_proxy import ListenerPod, between

pytestmark = pytest.mark.unmeasured

NO_HOSTS = [
    b"", b".", b"..", b"a..b", b"a b", b"a\tb", b"a/b", b"a?b", b"a\\b", b"a@b", b"a\x00b", b"a\x7fb", b"%61.example",
    b"\xff\xfe\xfd", b"xn--\xff", b"\xc3\xa9.example", b"\xf0\x9f\x98\x80", b"\xef\xbc\x91.example",
    b"a" * 254, b"a" * 8000, b"a" * 100_000, b"::1", b"[::1", b"[::1]x", b"[]", b"a.example:port", b"a.example:-1",
    b"a.example:1:2", b"a.example:123456", b"a.example:\xff", b"a.example, b.example", b"a.example\r\nHost: b.example",
]  # fmt: skip
NO_AGENTS = [b"[::1]", b"[::1]:8001", b"127.0.0.1:", b"a.example:65535", b"-", b"a" * 253, b"xn--e1afmkfd.example."]
WEBSOCKET = b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"


async def answer(client: TestClient[Any, Any], sent: bytes) -> int:
    """Send these bytes. Returns the status of the router's answer."""
    reader, writer = await asyncio.open_connection(client.host, client.port)
    writer.write(sent)
    line = await asyncio.wait_for(reader.readline(), 10)
    writer.close()
    await writer.wait_closed()
    return int(line.split()[1])


def test_a_host_that_is_no_hostname_is_a_400_page(host: str, running: Agent) -> None:
    async def scenario(client: TestClient[Any, Any], pod: ListenerPod) -> None:
        for odd in NO_HOSTS:
            assert await answer(client, b"GET / HTTP/1.1\r\nHost: " + odd + b"\r\n\r\n") == 400, odd[:40]
        assert await answer(client, b"GET / HTTP/1.0\r\n\r\n") == 400
        assert not pod.seen

    between(running, scenario)


def test_a_hostname_of_nobody_is_a_404_page(host: str, running: Agent) -> None:
    async def scenario(client: TestClient[Any, Any], pod: ListenerPod) -> None:
        for odd in NO_AGENTS:
            assert await answer(client, b"GET / HTTP/1.1\r\nHost: " + odd + b"\r\n\r\n") == 404, odd[:40]

    between(running, scenario)


@pytest.mark.parametrize(
    ("line", "headers", "status"),
    [
        (b"GET http://x/ HTTP/1.1", b"", 400),
        (b"GET /\xff HTTP/1.1", b"", 400),
        (b"GET /?\xff HTTP/1.1", b"", 400),
        (b"GET //evil.example/ HTTP/1.1", b"", 207),
        (b"GET /%zz%ff HTTP/1.1", b"", 207),
        (b"GET / HTTP/1.1", b"X-Odd: \xff\xfe\r\n", 207),
        (b"GET / HTTP/1.1", b"Cookie: a=\xff\r\n", 207),
        (b"GET / HTTP/1.1", b"Connection: \xff\r\n", 207),
        (b"GET /socket HTTP/1.1", WEBSOCKET + b"Sec-WebSocket-Key: \xff\r\n", 400),
        (b"GET /socket HTTP/1.1", WEBSOCKET, 400),
    ],
)
def test_odd_paths_and_headers_reach_the_pod_or_are_refused(
    host: str, running: Agent, line: bytes, headers: bytes, status: int
) -> None:
    async def scenario(client: TestClient[Any, Any], pod: ListenerPod) -> None:
        sent = line + b"\r\nHost: " + host.encode() + b"\r\n" + headers + b"\r\n"
        assert await answer(client, sent) == status

    between(running, scenario)


def test_a_packed_body_is_unpacked_by_the_pod_alone(host: str, running: Agent) -> None:
    """Otherwise a compression bomb would fill the router's memory, and the pod would get less than its header says."""

    async def scenario(client: TestClient[Any, Any], pod: ListenerPod) -> None:
        headers = {"Host": host, "Content-Encoding": "gzip"}
        async with client.post("/", headers=headers, data=gzip.compress(b"hello")) as reply:
            assert (await reply.json())["body"] == "hello"  # the pod's own server has unpacked it

    between(running, scenario)
