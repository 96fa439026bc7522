"""The key proxy's listener: it checks a call of the engine, sends it with the real key, and passes the answer on while
it arrives.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from agents.cause import Cause
from agents.pod.gateway.answers import Refusal, errors
from agents.pod.gateway.llm import body, failures, headers, model_rule, target
from agents.pod.gateway.llm.body import Body
from agents.pod.gateway.llm.log import ModelLog
from agents.pod.gateway.llm.target import ModelCall
from agents.pod.gateway.peers.mcp import PeersServer
from agents.pod.gateway.pod import Pod
from agents.pod.gateway.spending.calls import MeteredCall
from agents.pod.gateway.spending.limits import LimitReached
from agents.pod.gateway.spending.meter import Meter
from agents.pod.gateway.spending.tokens import protocol_of
from agents.pod.masking import StreamMask

# Longer than a turn may last, so that the deadline of the turn comes first.
SILENCE_SECONDS = 120.0
CONNECT_SECONDS = 10.0
# The most calls at a time, far more than the turns that the bridge allows. Each call takes at most about half a
# megabyte of memory.
CALLS = 64

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Admitted:
    """A call that was checked and may be sent."""

    provider: str
    method: str
    url: URL
    headers: CIMultiDict[str]
    body: Body
    key: str
    metered: MeteredCall


class KeyProxy:
    def __init__(self, pod: Pod, models: ModelLog, meter: Meter, session: aiohttp.ClientSession) -> None:
        self._pod = pod
        self._models = models
        self._meter = meter
        self._session = session
        self._open = 0

    def app(self, peers: PeersServer, besides: Sequence[web.RouteDef] = ()) -> web.Application:
        """All routes that the engine's container may call; `besides` are further routes."""
        app = web.Application(middlewares=[errors(failures.refused)])
        peers.route(app)
        app.router.add_routes(besides)
        app.router.add_route("*", "/{call:[\\s\\S]*}", self.forward)
        return app

    async def forward(self, request: web.Request) -> web.StreamResponse:
        call = target.read_call(request.raw_path)
        headers.check_token([*headers.shown_keys(request.headers), *call.shown_keys], self._pod.start.llm_token)
        if self._open >= CALLS:
            raise Refusal(503, f"{CALLS} model calls are under way", Retry_After="1")
        self._open += 1
        try:
            return await self._call(request, call)
        finally:
            self._open -= 1

    async def _call(self, request: web.Request, call: ModelCall) -> web.StreamResponse:
        admitted = await self._admit(request, call)
        metered = admitted.metered
        with self._meter.replay.call(metered, admitted.body):
            self._check_limits(metered)
            with self._meter.call(metered), self._models.call():
                return await self._send(request, admitted)

    async def _send(self, request: web.Request, admitted: Admitted) -> web.StreamResponse:
        metered = admitted.metered
        try:
            return await self._relay(request, admitted)
        except (aiohttp.ClientError, TimeoutError) as error:
            metered.is_free |= isinstance(error, aiohttp.ClientConnectorError) or _is_refused_body(error)
            if request.transport is None or request.transport.is_closing():
                raise  # the engine disconnected: no client waits for an answer, and the model did not fail
            raise self._no_answer(admitted, error) from error
        finally:
            metered.request_bytes = max(metered.request_bytes, request.content.total_bytes)

    def _check_limits(self, metered: MeteredCall) -> None:
        """Raises Refusal at a limit. The owner is shown it like a refusal of the model."""
        try:
            self._meter.check(metered)
        except Refusal as refusal:
            metered.failure = self._models.failed(
                refusal.status,
                refusal.message,
                of_key=metered.is_at_keys_limit,
                of_limit=True,
                seconds=refusal.seconds if isinstance(refusal, LimitReached) else None,
            )
            metered.cause = Cause.CALLS_STOPPED if self._meter.limits.is_stopped else Cause.SPENDING_LIMIT
            raise

    async def _admit(self, request: web.Request, call: ModelCall) -> Admitted:
        """Check key, provider, path and model, in this order and on the same configuration. Raises Refusal."""
        start = self._pod.start
        key = start.secrets.llm_key
        if not key:
            raise Refusal(401, "this agent has no model key")
        url = target.upstream(call, request.method, config=start.config, secrets=start.secrets)
        sent = headers.outgoing(request.headers, provider=call.provider, key=key)
        model = start.config.model
        is_named = request.method == "POST" and model_rule.check_path(call.path, model)
        admitted = await body.admit(request, model, must_name=not is_named)
        sent.update(admitted.headers)
        metered = MeteredCall(
            key=self._meter.key(start.config.provider or call.provider, model or ""),
            protocol=protocol_of(call.path) if request.method == "POST" else None,
            request_bytes=admitted.size,
            most_output=admitted.most_output,
            is_own_server=start.config.own_model_server,
            api_keys=self._meter.turns.api_keys,
        )
        return Admitted(call.provider, request.method, url, sent, admitted.data, key, metered)

    async def _relay(self, request: web.Request, admitted: Admitted) -> web.StreamResponse:
        async with self._session.request(
            admitted.method, admitted.url, headers=admitted.headers, data=admitted.body, allow_redirects=False
        ) as answer:
            headers.check_unpacked(answer.headers, admitted.provider)
            if answer.status >= 300:
                return await self._refused(admitted, answer)
            response = await pass_on(request, answer, admitted.key, admitted.metered)
            if admitted.method == "POST":
                self._models.answered()
            return response

    async def _refused(self, admitted: Admitted, answer: aiohttp.ClientResponse) -> web.Response:
        admitted.metered.is_free = True
        own = self._pod.start.config.own_model_server
        refusal = await failures.read(answer, provider=admitted.provider, key=admitted.key, is_own_server=own)
        # Engines also send GET requests and expect some 404. Only a failed generation counts as a failure of the model.
        if admitted.method == "POST":
            admitted.metered.failure = self._models.failed(answer.status, refusal.message)
            log.warning("%s", refusal.message)
        return refusal.response

    def _no_answer(self, admitted: Admitted, error: Exception) -> Refusal:
        if isinstance(error.__cause__, Refusal):
            return error.__cause__  # of the body
        refusal = failures.unreachable(admitted.provider, error)
        admitted.metered.failure = self._models.failed(None, refusal.message)
        log.warning("%s (%s)", refusal.message, type(error).__name__)
        return refusal


def _is_refused_body(error: Exception) -> bool:
    """Whether the body was refused while it was sent, so that its end never was."""
    return isinstance(error.__cause__, Refusal)


def client() -> aiohttp.ClientSession:
    """The only client that sends real keys: without cookies, without proxies from the environment, and without
    automatic headers.
    """
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=CALLS, ttl_dns_cache=60, keepalive_timeout=15),
        timeout=aiohttp.ClientTimeout(
            total=None, connect=3 * CONNECT_SECONDS, sock_connect=CONNECT_SECONDS, sock_read=SILENCE_SECONDS
        ),
        cookie_jar=aiohttp.DummyCookieJar(),
        skip_auto_headers=("User-Agent", "Content-Type", "Accept"),
        trust_env=False,
    )


async def pass_on(
    request: web.Request, answer: aiohttp.ClientResponse, key: str, metered: MeteredCall | None = None
) -> web.StreamResponse:
    """Pass each piece on at once, masked: so an engine that streams shows the first word as soon as the
    model sends it. The meter reads along.
    """
    if metered:
        metered.answers(answer)
    response = web.StreamResponse(status=answer.status, headers=headers.incoming(answer.headers, key=key))
    await response.prepare(request)
    mask = StreamMask([key])
    async for chunk in answer.content.iter_any():
        if metered:
            metered.feed(chunk)
        await response.write(mask.feed(chunk))
        await asyncio.sleep(0)  # a packed answer always has a next piece: others must have their turn
    if metered:
        metered.ended()
    await response.write(mask.finish())
    await response.write_eof()
    return response
