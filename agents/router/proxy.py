"""Passes one request on to the pod of its host: plain, streamed, or upgraded to a websocket."""

from __future__ import annotations

import asyncio
import logging
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import aiohttp
from aiohttp import hdrs, web
from prometheus_client import Counter as MetricCounter
from prometheus_client import Gauge
from yarl import URL

from agents.pod.gateway.sockets import (
    CLOSE_SECONDS,
    MESSAGE_BYTES,
    MESSAGES_AT_ONCE,
    MESSAGES_PER_SECOND,
    let_go,
    receive,
)
from agents.pod.logs.budget import Budget
from agents.router import headers, pages
from agents.router.addresses import Addresses
from config import tracing

log = logging.getLogger(__name__)

# A turn may think for 110 s before its first word, and a stream may pause as long between two words.
TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=5, sock_read=130)
CHUNK_BYTES = 65_536
# Requests and websockets of one agent at the same time. One agent's visitors must leave room for those of all others.
MOST_OF_ONE_AGENT = 256
# A visitor who reads nothing for this long is disconnected. Otherwise the place would never be free again.
WRITE_SECONDS = 130.0
HEARTBEAT_SECONDS = 30.0
# How aiohttp serves the application. A packed request body is passed on packed, and the pod unpacks it.
SERVING: dict[str, Any] = {"auto_decompress": False}
MAX_HOST_LENGTH = 253  # of a name in DNS
# A name or an IPv6 address, with or without a port. Names in other alphabets come as punycode.
_HOST = re.compile(r"([a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?|\[[0-9a-f:.]+\])(?::[0-9]{0,5})?", re.IGNORECASE)
ADDRESSES = web.AppKey("addresses", Addresses)
CLIENT = web.AppKey("client", aiohttp.ClientSession)
PRESENT: web.AppKey[Counter[str]] = web.AppKey("present", Counter)
REQUESTS = MetricCounter("agentpods_router_requests", "Visitors' requests that were answered.", ["by", "status"])
RUNNING = Gauge("agentpods_router_requests_running", "Visitors' requests and websockets that are open.")
Socket = web.WebSocketResponse | aiohttp.ClientWebSocketResponse


def application() -> web.Application:
    app = web.Application(client_max_size=0)
    app.cleanup_ctx.append(_resources)
    app.router.add_route("*", "/{path:.*}", route)
    return app


async def _resources(app: web.Application) -> AsyncIterator[None]:
    app[ADDRESSES], app[PRESENT] = Addresses(), Counter()
    connector = aiohttp.TCPConnector(limit=0, force_close=False)
    app[CLIENT] = aiohttp.ClientSession(
        connector=connector, timeout=TIMEOUT, auto_decompress=False, cookie_jar=aiohttp.DummyCookieJar()
    )
    yield
    await app[CLIENT].close()
    app[ADDRESSES].close()


async def route(request: web.Request) -> web.StreamResponse:
    method = request.method if request.method in hdrs.METH_ALL else "_OTHER"
    with RUNNING.track_inprogress(), tracing.served(f"{method} of a visitor", **_known(request, method)) as span:
        response = await _routed(request)
        if span:
            span.note(http__response__status_code=response.status, agentpods__answered_by=_labels(response)[0])
    REQUESTS.labels(*_labels(response)).inc()
    return response


def _known(request: web.Request, method: str) -> dict[str, str]:
    """What a trace says of the request: neither host nor path, which tell of people."""
    kind = "websocket" if _is_websocket(request) else "http"
    said = request.headers.get("traceparent", "")
    return {"traceparent": said, "http.request.method": method, "network.protocol.name": kind}


def _is_websocket(request: web.Request) -> bool:
    return request.headers.get("Upgrade", "").lower() == "websocket"


def _labels(response: web.StreamResponse) -> tuple[str, str]:
    """Who answered, and the class of the status: the pod may answer with any number."""
    by = "router" if isinstance(response, web.Response) else "pod"
    return by, f"{response.status // 100}xx" if 100 <= response.status < 600 else "other"


async def _routed(request: web.Request) -> web.StreamResponse:
    host = _hostname(request)
    if not host or not request.raw_path.startswith("/") or not _has_readable_key(request):
        return pages.bad_request(request)
    try:
        address = await request.app[ADDRESSES].of(host)
    except LookupError:
        return pages.unreachable(request, pages.NO_AGENTS_LANG)
    if address is None:
        return pages.no_agent(request)
    if address.endpoint is None:
        return pages.asleep(request, address.lang, address.state)
    url = URL(address.endpoint.rstrip("/") + request.raw_path, encoded=True)
    with _place(request.app[PRESENT], address.agent_id) as is_free:
        if not is_free:
            return pages.crowded(request, address.lang)
        if _is_websocket(request):
            return await _websocket(request, url, address.lang)
        return await _plain(request, url, address.lang)


@contextmanager
def _place(present: Counter[str], agent_id: str) -> Iterator[bool]:
    """Take one of the agent's places. Yields whether there was one."""
    if present[agent_id] >= MOST_OF_ONE_AGENT:
        yield False
        return
    present[agent_id] += 1
    try:
        yield True
    finally:
        present[agent_id] -= 1
        if not present[agent_id]:
            del present[agent_id]


def _hostname(request: web.Request) -> str | None:
    """The host name that the visitor asked for, without its port. None when `Host` is missing or malformed."""
    host = _HOST.fullmatch(request.headers.get("Host", ""))
    name = host[1].rstrip(".").lower() if host else ""
    return name if 0 < len(name) <= MAX_HOST_LENGTH else None


def _has_readable_key(request: web.Request) -> bool:
    """Whether the websocket's key is ASCII: aiohttp fails on any other one."""
    return request.headers.get("Sec-WebSocket-Key", "").isascii()


async def _plain(request: web.Request, url: URL, lang: str) -> web.StreamResponse:
    body = request.content if request.can_read_body else None
    try:
        with tracing.call("call of the pod"):
            upstream = await request.app[CLIENT].request(
                request.method, url, headers=headers.onward(request), data=body, allow_redirects=False
            )
    except (aiohttp.ClientError, TimeoutError) as error:
        log.info("pod of %s: %s", request.host, error)
        return pages.unreachable(request, lang)
    async with upstream:
        response = web.StreamResponse(
            status=upstream.status, reason=upstream.reason, headers=headers.back(upstream.headers)
        )
        await response.prepare(request)
        try:
            async for chunk in upstream.content.iter_chunked(CHUNK_BYTES):
                async with asyncio.timeout(WRITE_SECONDS):
                    await response.write(chunk)
        except (aiohttp.ClientError, TimeoutError) as error:
            log.info("pod of %s broke off: %s", request.host, error)
            if request.transport is not None:
                request.transport.abort()  # an incomplete reply must not look complete
            return response
        await response.write_eof()
        return response


async def _websocket(request: web.Request, url: URL, lang: str) -> web.StreamResponse:
    offered = [name.strip() for name in request.headers.get("Sec-WebSocket-Protocol", "").split(",") if name.strip()]
    passed = headers.onward(request)
    for name in [name for name in passed if name.lower().startswith("sec-websocket-")]:
        passed.popall(name, None)
    try:
        with tracing.call("call of the pod"):
            pod = await request.app[CLIENT].ws_connect(
                url, protocols=offered, headers=passed, max_msg_size=MESSAGE_BYTES, autoclose=False, autoping=False
            )
    except aiohttp.WSServerHandshakeError as refused:
        return pages.refused(request, lang, refused.status, refused.headers)
    except (aiohttp.ClientError, TimeoutError) as error:
        log.info("pod of %s: %s", request.host, error)
        return pages.unreachable(request, lang)
    async with pod:
        # No compression: a small message must stay small when it is unpacked.
        visitor = web.WebSocketResponse(
            protocols=[pod.protocol] if pod.protocol else [],
            max_msg_size=MESSAGE_BYTES,
            heartbeat=HEARTBEAT_SECONDS,
            timeout=CLOSE_SECONDS,
            autoclose=False,
            autoping=False,
            compress=False,
        )
        await visitor.prepare(request)
        transport = request.transport
        await _relay(visitor, pod, transport)
        await let_go(transport, seconds=CLOSE_SECONDS)
        return visitor


async def _relay(
    visitor: web.WebSocketResponse, pod: aiohttp.ClientWebSocketResponse, transport: asyncio.Transport | None
) -> None:
    """Pass messages in both directions until one side ends. The other side then gets the same close code."""
    pumps = (_pump(visitor, pod, transport), _pump(pod, visitor, transport))
    ways = [asyncio.ensure_future(pump) for pump in pumps]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)


async def _pump(source: Socket, target: Socket, transport: asyncio.Transport | None) -> None:
    budget = Budget(rate=MESSAGES_PER_SECOND, burst=MESSAGES_AT_ONCE)
    while True:
        message = await receive(source, budget, transport)
        async with asyncio.timeout(WRITE_SECONDS):
            if message.type is aiohttp.WSMsgType.TEXT:
                await target.send_str(message.data)
            elif message.type is aiohttp.WSMsgType.BINARY:
                await target.send_bytes(message.data)
            else:
                break
    await target.close(code=source.close_code or aiohttp.WSCloseCode.GOING_AWAY)
