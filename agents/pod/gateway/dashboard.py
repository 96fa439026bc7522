"""The proxy for the engine's own page. Only signed-in visitors get it; the gateway replaces their login by the engine's
login.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any

import aiohttp
from aiohttp import web
from multidict import CIMultiDict, MultiMapping
from yarl import URL

from agents.engines import DASHBOARDS
from agents.engines.dashboard import VISITED, Dashboard
from agents.pod import hop_by_hop
from agents.pod.gateway.answers import Refusal, read_body
from agents.pod.gateway.pod import Pod
from agents.pod.gateway.sockets import Sockets

BODY_BYTES = 16 * 1024 * 1024
# Limits for strangers (visitors who are not signed in): bytes and seconds of a request's body, and requests at the same
# time.
STRANGERS_BYTES = 4 * 1024 * 1024
STRANGERS_SECONDS = 30.0
MOST_STRANGERS = 32
# Bodies are held in memory as a whole. A body above LARGE_BYTES counts as large, and only MOST_LARGE of them may be
# held at the same time.
LARGE_BYTES = 128 * 1024
MOST_LARGE = 6
ANSWER_SECONDS = 300.0
ENTRY_SECONDS = 10.0
ENTRY_BYTES = 64 * 1024
_TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=5)
# Headers for the gateway itself, or about addresses that the engine does not have.
_NOT_FOR_THE_ENGINE = {
    "authorization",
    "cookie",
    "content-encoding",  # the gateway's HTTP server has unpacked the body
    "content-length",
    "forwarded",
    "host",
    "origin",
    "referer",
}
# Engines would read such a path as a different path than the one that was checked here.
_CROOKED = re.compile(r"//|[;\\]|/\.{1,2}(/|\Z)|[\x00-\x1f\x7f]")
_NOT_FOR_THE_READER = {"content-length", "date", "server", "set-cookie", "www-authenticate"}
# _POLICY is added to the engine's own content security policy. Both must allow a request, so the page talks to this
# address only.
# An answer for a stranger gets _STRANGERS_POLICY: it is sandboxed, so that none of its scripts can act for a signed-in
# visitor.
_STRANGERS_POLICY = "sandbox allow-downloads allow-forms allow-modals allow-popups allow-scripts"
_POLICY = (
    "connect-src 'self' data: blob:; img-src 'self' data: blob:; base-uri 'self'; form-action 'self'; "
    "frame-ancestors 'none'; object-src 'none'"
)


class DashboardProxy:
    """The caller must make sure that the visitor is signed in, except for the methods for strangers."""

    def __init__(self, pod: Pod, dashboard: Dashboard, client: aiohttp.ClientSession) -> None:
        self._pod = pod
        self._dashboard = dashboard
        self._client = client
        self._strangers = self._large = 0
        self._sockets = Sockets(client)

    @property
    def is_open(self) -> bool:
        """Whether there is a page now. A page of a program beside the engine exists only if the owner has credentials
        for it.
        """
        return self._pod.config.dashboard or not self._dashboard.beside

    async def entry(self) -> str:
        """The path of the page's entry. Raises Refusal (503)."""
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
        """Forward a WebSocket, if the page has one. The connection ends when `may_stay` returns False."""
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
        """Whether strangers may call this path. The engine behind it does its own checks."""
        public = self._dashboard.public
        return bool(public and public.fullmatch(path)) and not _CROOKED.search(path)

    async def pass_on_stranger(self, request: web.Request) -> web.StreamResponse:
        """Forward a stranger's request with its own credentials, if it has any. The engine's login is not added."""
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
        # Remove headers that the engine uses to recognise the gateway, and all cookies of the page.
        not_his = {name.lower() for name in self._dashboard.headers("")} | (_NOT_FOR_THE_ENGINE - {"authorization"})
        headers = _without(request.headers, not_his)
        url = self._url(request.raw_path)
        async with self._client.request(
            request.method, url, headers=headers, data=body or None, allow_redirects=False, timeout=_TIMEOUT
        ) as answer:
            return await _stream_to_stranger(request, answer)

    def _headers(self, given: MultiMapping[str]) -> CIMultiDict[str]:
        headers = _without(given, _NOT_FOR_THE_ENGINE)
        # these replace the visitor's own values
        headers.update(self._dashboard.headers(self._pod.start.engine_password))
        headers[VISITED] = self._visited(given)
        return headers

    def _visited(self, given: MultiMapping[str]) -> str:
        """The address that the visitor used: the platform's hostname or the customer's; on loopback the
        host and port.
        """
        start = self._pod.start
        scheme = "https" if (start.public_url or "").startswith("https://") else "http"
        return f"{scheme}://{given.get('Host') or f'{start.host}:{start.public_port}'}"

    def _url(self, path: str) -> URL:
        """The engine's address for this path. Raises 404 if the path is not below the page's prefix."""
        start, prefix = self._pod.start, self._dashboard.prefix
        if not f"{path}/".startswith(f"{prefix}/"):
            raise web.HTTPNotFound
        server = start.side_url if self._dashboard.beside else start.engine_url
        return URL(server.rstrip("/") + path.removeprefix(prefix), encoded=True)

    async def _fetch(self, path: str) -> Any:
        headers = self._headers(CIMultiDict({"Accept-Encoding": "identity"}))
        async with self._client.get(self._url(path), headers=headers, timeout=_TIMEOUT) as answer:
            answer.raise_for_status()
            raw = bytearray()
            async for piece in answer.content.iter_any():
                raw += piece
                if len(raw) > ENTRY_BYTES:
                    raise ValueError(f"more than {ENTRY_BYTES} bytes")
            return json.loads(raw)


def proxy_for(pod: Pod, client: aiohttp.ClientSession) -> DashboardProxy | None:
    """The proxy for this pod's engine; None if the engine has no page of its own."""
    dashboard = DASHBOARDS.get(pod.start.engine)
    return DashboardProxy(pod, dashboard, client) if dashboard else None


async def _stream(request: web.Request, answer: aiohttp.ClientResponse, *, policy: str | None) -> web.StreamResponse:
    """Send each piece at once, because the page uses event streams that never end."""
    kept = _without(answer.headers, _NOT_FOR_THE_READER)
    # a site of another origin must not read the page
    headers = CIMultiDict(
        (name, value) for name, value in kept.items() if not name.lower().startswith("access-control-")
    )
    if policy:
        headers.setdefault("Content-Security-Policy", policy)
    # without this header, a later step adds the gateway's own policy, which allows no scripts
    if "Content-Security-Policy" in headers:
        headers.add("Content-Security-Policy", _POLICY)
    response = web.StreamResponse(status=answer.status, headers=headers)
    await response.prepare(request)
    if request.method != "HEAD":
        async for chunk in answer.content.iter_any():
            await response.write(chunk)
    await response.write_eof()
    return response


async def _stream_to_stranger(request: web.Request, answer: aiohttp.ClientResponse) -> web.StreamResponse:
    """Send the answer to a stranger. Scripts of any website may read it, if the owner's workflow allows this."""
    response = web.StreamResponse(status=answer.status, headers=_without(answer.headers, _NOT_FOR_THE_READER))
    response.headers["Content-Security-Policy"] = _STRANGERS_POLICY
    response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    await response.prepare(request)
    if request.method != "HEAD":
        async for chunk in answer.content.iter_any():
            await response.write(chunk)
    await response.write_eof()
    return response


def _may_be_large(request: web.Request) -> bool:
    """Whether the body may be large. The size of a compressed or chunked body is not known before."""
    if request.content_length is None or "Content-Encoding" in request.headers:
        return request.body_exists
    return request.content_length > LARGE_BYTES


def _is_of_the_opening(name: str) -> bool:
    """Whether this header belongs to the opening of the visitor's WebSocket. The engine's WebSocket gets its own."""
    return name.lower().startswith("sec-websocket-")


def _without(headers: MultiMapping[str], dropped: AbstractSet[str]) -> CIMultiDict[str]:
    dropped = hop_by_hop.names_in(headers) | dropped
    return CIMultiDict((name, value) for name, value in headers.items() if name.lower() not in dropped)


def _gone(error: Exception) -> Refusal:
    return Refusal(503, f"the engine's page does not answer ({type(error).__name__})", Retry_After="3")


def client() -> aiohttp.ClientSession:
    """A client for pages only: it does not unpack compressed answers."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=64),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        trust_env=False,
    )
