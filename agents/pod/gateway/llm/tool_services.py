"""Forwards calls of tools to external services that the owner pays for. As with the model, the engine never has the
real key.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import aiohttp
from aiohttp import web

from agents.engines.tool_services import SERVICES
from agents.pod.gateway.answers import Refusal
from agents.pod.gateway.llm import body, failures, headers, proxy
from agents.pod.gateway.pod import Pod

# Of one request. The largest requests carry pictures and sound.
LIMIT_BYTES = 32 * 1024 * 1024
JSON_BYTES = 256 * 1024
JSON_SECONDS = 30.0
SECONDS = 180.0
# The most calls at a time: more than the turns that a bridge allows.
CALLS = 32

log = logging.getLogger(__name__)


class ToolServices:
    def __init__(self, pod: Pod, session: aiohttp.ClientSession) -> None:
        self._pod = pod
        self._session = session
        self._open = 0

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post(f"/services/{name}{call}", partial(self.forward, name, call))
            for name, service in SERVICES.items()
            for call in service.calls
        ]

    async def forward(self, service: str, call: str, request: web.Request) -> web.StreamResponse:
        if self._open >= CALLS:
            raise Refusal(503, f"{CALLS} calls of tools are under way", Retry_After="1")
        self._open += 1
        try:
            return await self._forward(service, call, request)
        except (aiohttp.ClientError, TimeoutError) as error:
            if isinstance(error.__cause__, Refusal):
                raise error.__cause__ from error  # the body was refused while it was sent
            if request.transport is None or request.transport.is_closing():
                raise  # the engine disconnected
            log.warning("%s: %s", service, type(error).__name__)
            raise failures.unreachable(service, error) from error
        finally:
            self._open -= 1

    async def _forward(self, service: str, call: str, request: web.Request) -> web.StreamResponse:
        secrets = self._pod.secrets
        data, shown, described = await _body(request, key_name=SERVICES[service].key_in_body)
        headers.check_token([*headers.shown_keys(request.headers), *shown], self._pod.start.llm_token)
        key = secrets.tool_keys.get(service)
        if not key:
            raise Refusal(401, f"this agent has no key of {service}; its owner sets it with the agent's tools")
        sent = headers.passed_on(request.headers)
        sent.update({**described, "Authorization": f"Bearer {key}"})
        base = secrets.tool_urls.get(service, SERVICES[service].base_url).rstrip("/")
        async with self._session.post(
            f"{base}{call}",
            headers=sent,
            data=data,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=SECONDS, sock_connect=proxy.CONNECT_SECONDS),
        ) as answer:
            headers.check_unpacked(answer.headers, service)
            if answer.status < 300:
                return await proxy.pass_on(request, answer, key)
            refusal = await failures.read(answer, provider=service, key=key, key_is="tool key")
            log.warning("%s", refusal.message)
            return refusal.response


async def _body(
    request: web.Request, *, key_name: str
) -> tuple[bytes | AsyncIterator[bytes], list[str], dict[str, str]]:
    """The body to send, the keys that were in it, and the headers that belong to it. Raises Refusal."""
    if not key_name:
        return _bounded(request, LIMIT_BYTES), [], body.length_of(request)
    try:
        async with asyncio.timeout(JSON_SECONDS):
            told = _json(b"".join([piece async for piece in _bounded(request, JSON_BYTES)]))
    except TimeoutError as error:
        raise Refusal(408, "body: came too slowly") from error
    shown = told.pop(key_name, None)
    return json.dumps(told).encode(), [] if shown is None else [str(shown)], {}


def _json(raw: bytes) -> dict[str, Any]:
    try:
        told = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise Refusal(400, "body: must be JSON") from error
    if not isinstance(told, dict):
        raise Refusal(400, "body: must be a JSON object")
    return told


async def _bounded(request: web.Request, limit: int) -> AsyncIterator[bytes]:
    if (request.content_length or 0) > limit:
        raise Refusal(413, f"body: at most {limit} bytes")
    size = 0
    async for piece in request.content.iter_any():
        size += len(piece)
        if size > limit:
            raise Refusal(413, f"body: at most {limit} bytes")
        yield piece
