"""The engine's own page for whoever is signed in: passed on, with the engine's login put in the place of ours."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from agents.engines import DASHBOARDS
from agents.engines.dashboard import VISITED, Dashboard
from agents.pod.gateway.answers import Refusal, read_body
from agents.pod.gateway.pod import Pod
from agents.pod.gateway.sockets import Sockets

BODY_BYTES = 16 * 1024 * 1024
# Of people whom nobody knows: what they send, for how long, how many at once, and how long they are waited for.
STRANGERS_BYTES = 4 * 1024 * 1024
STRANGERS_SECONDS = 30.0
MOST_STRANGERS = 32
# Bodies are held whole: this is a large one, and so many of them are held at once.
LARGE_BYTES = 128 * 1024
MOST_LARGE = 6
ANSWER_SECONDS = 300.0
ENTRY_SECONDS = 10.0
ENTRY_BYTES = 64 * 1024
_TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=5)
_HOP_BY_HOP = {
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
}
# Ours, or about an address that the engine does not have.
_NOT_FOR_THE_ENGINE = _HOP_BY_HOP | {
    "authorization",
    "cookie",
    "content-encoding",  # our server has unpacked the body
    "content-length",
    "forwarded",
    "host",
    "origin",
    "referer",
}
# Engines read such a path as another one than is written there, and so as another than was judged here.
_CROOKED = re.compile(r"//|[;\\]|/\.{1,2}(/|\Z)|[\x00-\x1f\x7f]")
_NOT_FOR_THE_READER = _HOP_BY_HOP | {"content-length", "date", "server", "set-cookie", "www-authenticate"}
# Beside the engine's own policy: both must allow what happens, so its page speaks to this address alone.
# What answers a stranger is not the page: no script of it may act in the name of who is signed in.
_STRANGERS_POLICY = "sandbox allow-downloads allow-forms allow-modals allow-popups allow-scripts"
_POLICY = (
    "connect-src 'self' data: blob:; img-src 'self' data: blob:; base-uri 'self'; form-action 'self'; "
    "frame-ancestors 'none'; object-src 'none'"
)


class DashboardProxy:
    """Only signed-in visitors come here; the caller has seen to that."""

    def __init__(self, pod: Pod, dashboard: Dashboard, client: aiohttp.ClientSession) -> None:
        self._pod = pod
        self._dashboard = dashboard
        self._client = client
        self._strangers = self._large = 0
        self._sockets = Sockets(client)

    @property
    def is_open(self) -> bool:
        """A page beside the engine is there only where its owner has credentials for it."""
        return self._pod.config.dashboard or not self._dashboard.beside

    async def entry(self) -> str:
        """The path where the page begins."""
        try:
            async with asyncio.timeout(ENTRY_SECONDS):
                return await self._dashboard.entry(self._fetch)
        except (aiohttp.ClientError, TimeoutError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise _gone(error) from error

    async def pass_on(self, request: web.Request) -> web.StreamResponse:
        self._check(request)
        body = await read_body(request, BODY_BYTES, seconds=ANSWER_SECONDS)
        try:
            async with self._client.request(
                request.method,
                self._url(request.raw_path),
                headers=self._headers(request.headers),
                data=body or None,
                allow_redirects=False,
                timeout=_TIMEOUT,
            ) as answer:
                return await _stream(request, answer, policy=self._dashboard.policy)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise _gone(error) from error

    async def pass_on_socket(self, request: web.Request, *, may_stay: Callable[[], bool]) -> web.StreamResponse:
        """A WebSocket, where the page has one; it ends when its reader may not stay."""
        self._check(request)
        sockets = self._dashboard.sockets
        if not (sockets and sockets.fullmatch(request.path)):
            raise Refusal(400, f"{request.path}: there is no WebSocket here")
        url, given = self._url(request.raw_path), self._headers(request.headers)
        headers = CIMultiDict((name, value) for name, value in given.items() if not _is_of_the_opening(name))
        try:
            return await self._sockets.pass_on(request, url, headers, may_stay=may_stay)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise _gone(error) from error

    async def end(self, _: web.Application) -> None:
        await self._sockets.end()

    def _check(self, request: web.Request) -> None:
        if _CROOKED.search(request.path):
            raise Refusal(400, "path: no '.', '..', '//', ';', backslash or control character, encoded or not")
        if refusal := self._dashboard.refuses(request.method, request.path):
            raise Refusal(403, f"{request.method} {request.path}: {refusal}")

    def is_public(self, path: str) -> bool:
        """Whether anybody may call this path: what is behind it asks for itself."""
        public = self._dashboard.public
        return bool(public and public.fullmatch(path)) and not _CROOKED.search(path)

    async def pass_on_stranger(self, request: web.Request) -> web.StreamResponse:
        """As it is said, without any login of ours: it may have one of its own."""
        large = _may_be_large(request)
        if self._strangers >= MOST_STRANGERS or (large and self._large >= MOST_LARGE):
            most = f"at most {MOST_STRANGERS} calls at once, {MOST_LARGE} of them with more than {LARGE_BYTES} bytes"
            raise Refusal(429, most, Retry_After="1")
        self._strangers += 1
        self._large += large
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await self._answer_stranger(request)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise _gone(error) from error
        finally:
            self._strangers -= 1
            self._large -= large

    async def _answer_stranger(self, request: web.Request) -> web.StreamResponse:
        body = await read_body(request, STRANGERS_BYTES, seconds=STRANGERS_SECONDS)
        # The engine must not take him for the gateway, and hears of no cookie of the page.
        not_his = {name.lower() for name in self._dashboard.headers("")} | (_NOT_FOR_THE_ENGINE - {"authorization"})
        headers = CIMultiDict((name, value) for name, value in request.headers.items() if name.lower() not in not_his)
        url = self._url(request.raw_path)
        async with self._client.request(
            request.method, url, headers=headers, data=body or None, allow_redirects=False, timeout=_TIMEOUT
        ) as answer:
            return await _stream_to_stranger(request, answer)

    def _headers(self, given: Mapping[str, str]) -> CIMultiDict[str]:
        headers = CIMultiDict((name, value) for name, value in given.items() if name.lower() not in _NOT_FOR_THE_ENGINE)
        headers.update(self._dashboard.headers(self._pod.start.engine_password))  # in place of what the visitor says
        headers[VISITED] = self._visited(given)
        return headers

    def _visited(self, given: Mapping[str, str]) -> str:
        """By its own name or by its customer's; on loopback by its port."""
        start = self._pod.start
        scheme = "https" if (start.public_url or "").startswith("https://") else "http"
        return f"{scheme}://{given.get('Host') or f'{start.host}:{start.public_port}'}"

    def _url(self, path: str) -> URL:
        """A path that is not below the prefix is not the page's."""
        start, prefix = self._pod.start, self._dashboard.prefix
        if not f"{path}/".startswith(f"{prefix}/"):
            raise web.HTTPNotFound
        server = start.side_url if self._dashboard.beside else start.engine_url
        return URL(server.rstrip("/") + path.removeprefix(prefix), encoded=True)

    async def _fetch(self, path: str) -> Any:
        headers = self._headers({"Accept-Encoding": "identity"})
        async with self._client.get(self._url(path), headers=headers, timeout=_TIMEOUT) as answer:
            answer.raise_for_status()
            raw = bytearray()
            async for piece in answer.content.iter_any():
                raw += piece
                if len(raw) > ENTRY_BYTES:
                    raise ValueError(f"more than {ENTRY_BYTES} bytes")
            return json.loads(raw)


def proxy_for(pod: Pod, client: aiohttp.ClientSession) -> DashboardProxy | None:
    """None where the engine has no page of its own."""
    dashboard = DASHBOARDS.get(pod.start.engine)
    return DashboardProxy(pod, dashboard, client) if dashboard else None


async def _stream(request: web.Request, answer: aiohttp.ClientResponse, *, policy: str | None) -> web.StreamResponse:
    """As it comes: the page lives from events that never end."""
    headers = CIMultiDict((name, value) for name, value in answer.headers.items() if _is_for_the_reader(name))
    if policy:
        headers.setdefault("Content-Security-Policy", policy)
    if "Content-Security-Policy" in headers:  # without one it gets our own, by which no script runs
        headers.add("Content-Security-Policy", _POLICY)
    response = web.StreamResponse(status=answer.status, headers=headers)
    await response.prepare(request)
    if request.method != "HEAD":
        async for chunk in answer.content.iter_any():
            await response.write(chunk)
    await response.write_eof()
    return response


async def _stream_to_stranger(request: web.Request, answer: aiohttp.ClientResponse) -> web.StreamResponse:
    """It may be called by the scripts of any page, where the owner's workflow says so."""
    kept = ((name, value) for name, value in answer.headers.items() if name.lower() not in _NOT_FOR_THE_READER)
    response = web.StreamResponse(status=answer.status, headers=CIMultiDict(kept))
    response.headers["Content-Security-Policy"] = _STRANGERS_POLICY
    response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    await response.prepare(request)
    if request.method != "HEAD":
        async for chunk in answer.content.iter_any():
            await response.write(chunk)
    await response.write_eof()
    return response


def _may_be_large(request: web.Request) -> bool:
    """Of a packed body, and of one in pieces, nobody knows it before."""
    if request.content_length is None or "Content-Encoding" in request.headers:
        return request.body_exists
    return request.content_length > LARGE_BYTES


def _is_of_the_opening(name: str) -> bool:
    """Of this WebSocket's opening; the engine's has its own."""
    return name.lower().startswith("sec-websocket-")


def _is_for_the_reader(name: str) -> bool:
    return name.lower() not in _NOT_FOR_THE_READER and not name.lower().startswith("access-control-")


def _gone(error: Exception) -> Refusal:
    return Refusal(503, f"the engine's page does not answer ({type(error).__name__})", Retry_After="3")


def client() -> aiohttp.ClientSession:
    """For pages alone: what is compressed stays so."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=64),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        trust_env=False,
    )
