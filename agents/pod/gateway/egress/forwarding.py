"""Requests that the broker makes for the engine: plain HTTP as it is, and HTTPS with secrets in headers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from agents.pod.gateway.answers import Refusal
from agents.pod.gateway.egress import dialling, headers
from agents.pod.gateway.egress.hosts import Target
from agents.pod.gateway.egress.rules import BrokeredSecret
from agents.pod.gateway.egress.visits import HostVisit
from agents.pod.gateway.llm.headers import check_unpacked
from agents.pod.masking import StreamMask
from config.outbound import AddressRefusedError, Reach

SILENCE_SECONDS = 300.0
# CONNECT would lead past the broker, and TRACE asks the host to repeat the request with its secret.
_NOT_FORWARDED = {"CONNECT", "TRACE"}


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokeredRequest:
    """A request that was allowed."""

    target: Target
    is_tls: bool
    path: str  # with the query, as it was sent
    secrets: tuple[BrokeredSecret, ...]
    visit: HostVisit

    @property
    def url(self) -> URL:
        scheme, usual = ("https", 443) if self.is_tls else ("http", 80)
        port = "" if self.target.port == usual else f":{self.target.port}"
        return URL(f"{scheme}://{self.target.host}{port}{self.path}", encoded=True)

    @property
    def clear(self) -> list[str]:
        """What is masked in the answer: the secrets, alone and as they are sent."""
        return [text for secret in self.secrets for text in (secret.value, secret.clear)]


class Forwarder:
    """The clients that make these requests: without cookies, redirects, or proxies of the environment."""

    def __init__(self, reach: Callable[[], Reach], most: int) -> None:
        self._connector = dialling.connector(reach, most)
        self._packed = _session(self._connector, unpacks=False)
        self._unpacked = _session(self._connector, unpacks=True)

    async def close(self) -> None:
        await self._packed.close()
        await self._unpacked.close()
        await self._connector.close()

    async def forward(self, request: web.BaseRequest, order: BrokeredRequest) -> web.StreamResponse:
        """Raises Refusal while the answer has not begun."""
        if request.method in _NOT_FORWARDED:
            raise Refusal(
                405, f"method: {request.method} is not forwarded", Allow="GET, HEAD, POST, PUT, PATCH, DELETE"
            )
        try:
            return await self._forward(request, order)
        except (AddressRefusedError, aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
            if request.transport is None or request.transport.is_closing() or request.writer.output_size > 0:
                raise
            raise refusal_of(error, order.target) from error

    async def _forward(self, request: web.BaseRequest, order: BrokeredRequest) -> web.StreamResponse:
        _continue(request)
        session = self._unpacked if order.secrets else self._packed
        async with session.request(
            request.method,
            order.url,
            headers=_headers(request, order),
            data=_body(request, order),
            allow_redirects=False,
        ) as answer:
            if order.secrets:
                check_unpacked(answer.headers, order.target.host)
            return await _pass_on(request, answer, order)


def refusal_of(error: Exception, target: Target) -> Refusal:
    """The answer for a host that was not reached. The exception's own text is not used: it has addresses."""
    match error:
        case AddressRefusedError():
            return Refusal(403, f"{target}: its address is not on the public internet")
        case TimeoutError():
            return Refusal(504, f"{target}: it did not answer in time")
        case aiohttp.ClientConnectorCertificateError() | aiohttp.ClientSSLError():
            return Refusal(502, f"{target}: its certificate is not trusted, or TLS failed")
    return Refusal(502, f"{target}: it cannot be reached")


def _session(connector: aiohttp.TCPConnector, *, unpacks: bool) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=connector,
        connector_owner=False,
        timeout=aiohttp.ClientTimeout(
            total=None,
            connect=2 * dialling.CONNECT_SECONDS + dialling.LOOKUP_SECONDS,
            sock_connect=dialling.CONNECT_SECONDS,
            sock_read=SILENCE_SECONDS,
        ),
        cookie_jar=aiohttp.DummyCookieJar(),
        skip_auto_headers=("User-Agent", "Content-Type", "Accept", "Accept-Encoding"),
        auto_decompress=unpacks,
        trust_env=False,
        max_line_size=16 * 1024,
        max_field_size=16 * 1024,
    )


def _headers(request: web.BaseRequest, order: BrokeredRequest) -> CIMultiDict[str]:
    sent = headers.outgoing(request.headers, order.secrets)
    if request.content_length is not None:
        sent["Content-Length"] = str(request.content_length)
    return sent


def _body(request: web.BaseRequest, order: BrokeredRequest) -> AsyncIterator[bytes] | None:
    return _pieces(request, order.visit) if request.can_read_body else None


async def _pieces(request: web.BaseRequest, visit: HostVisit) -> AsyncIterator[bytes]:
    while True:
        async with asyncio.timeout(SILENCE_SECONDS):
            piece = await request.content.readany()
        if not piece:
            return
        visit.went(sent=len(piece))
        yield piece


def _continue(request: web.BaseRequest) -> None:
    """Tell a client that waits with its body to send it."""
    if request.headers.get("Expect", "").lower() == "100-continue" and request.transport is not None:
        request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")


async def _pass_on(
    request: web.BaseRequest, answer: aiohttp.ClientResponse, order: BrokeredRequest
) -> web.StreamResponse:
    has_body = request.method != "HEAD" and answer.status not in {204, 304}
    given = headers.incoming(answer.headers, order.clear, is_changed=bool(order.secrets), has_body=has_body)
    response = web.StreamResponse(status=answer.status, headers=given)  # a reason of the host could hold a secret
    await response.prepare(request)
    mask = StreamMask(order.clear) if order.secrets else None
    async for piece in answer.content.iter_any():
        order.visit.went(received=len(piece))
        await response.write(mask.feed(piece) if mask else piece)
        await asyncio.sleep(0)  # a packed answer always has a next piece: others must have their turn
    if mask and has_body:
        await response.write(mask.finish())
    await response.write_eof()
    return response
