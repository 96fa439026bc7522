"""The proxy's listener: judge a call of the engine, send it with the real key, pass the answer on as it comes."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from agents.pod.gateway.answers import Refusal, errors, read_body
from agents.pod.gateway.llm import failures, headers, model_rule, target
from agents.pod.gateway.llm.log import ModelLog
from agents.pod.gateway.pod import Pod
from agents.pod.masking import StreamMask

BODY_BYTES = 32 * 1024 * 1024
METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}
# Longer than a turn may last: the turn's deadline speaks first.
SILENCE_SECONDS = 120.0
CONNECT_SECONDS = 10.0
CONNECTIONS = 64

log = logging.getLogger(__name__)
Body = bytes | AsyncIterator[bytes] | None


@dataclass(frozen=True, slots=True)
class Admitted:
    """A call that may go out."""

    provider: str
    method: str
    url: URL
    headers: CIMultiDict[str]
    body: Body
    key: str


class KeyProxy:
    def __init__(self, pod: Pod, models: ModelLog, session: aiohttp.ClientSession) -> None:
        self._pod = pod
        self._models = models
        self._session = session

    def app(self) -> web.Application:
        app = web.Application(middlewares=[errors(failures.refused)])
        app.router.add_route("*", "/{call:[\\s\\S]*}", self.forward)
        return app

    async def forward(self, request: web.Request) -> web.StreamResponse:
        admitted = await self._admit(request)
        with self._models.call():
            try:
                return await self._relay(request, admitted)
            except (aiohttp.ClientError, TimeoutError) as error:
                if request.transport is None or request.transport.is_closing():
                    raise  # the engine hung up; nobody waits for an answer, and the model is not to blame
                raise self._no_answer(admitted, error) from error

    async def _admit(self, request: web.Request) -> Admitted:
        """Token, path, provider, key, model: in this order, on one view of the configuration."""
        start = self._pod.start
        call = target.read_call(request.raw_path)
        headers.check_token([*headers.shown_keys(request.headers), *call.shown_keys], start.llm_token)
        if request.method not in METHODS:
            raise Refusal(405, f"method: one of {', '.join(sorted(METHODS))}")
        key = start.secrets.llm_key
        if not key:
            raise Refusal(401, "this agent has no model key")
        url = target.upstream(call, config=start.config, secrets=start.secrets)
        sent = headers.outgoing(request.headers, provider=call.provider, key=key)
        model_rule.check_path(call.path, start.config.model)
        body = await _read(request, start.config.model)
        return Admitted(call.provider, request.method, url, sent, body, key)

    async def _relay(self, request: web.Request, admitted: Admitted) -> web.StreamResponse:
        async with self._session.request(
            admitted.method, admitted.url, headers=admitted.headers, data=admitted.body, allow_redirects=False
        ) as answer:
            if answer.status >= 300:
                return await self._refused(admitted, answer)
            response = await _pass_on(request, answer, admitted.key)
            if admitted.method == "POST":
                self._models.answered()
            return response

    async def _refused(self, admitted: Admitted, answer: aiohttp.ClientResponse) -> web.Response:
        refusal = await failures.read(answer, provider=admitted.provider, key=admitted.key)
        # Engines look around with GET and expect some 404: only a failed generation is a failure of the model.
        if admitted.method == "POST":
            self._models.failed(answer.status, refusal.message)
        return refusal.response

    def _no_answer(self, admitted: Admitted, error: Exception) -> Refusal:
        if isinstance(error.__cause__, Refusal):
            return error.__cause__  # the body was refused while it was being sent
        refusal = failures.unreachable(admitted.provider, error)
        self._models.failed(None, refusal.message)
        log.warning("%s (%s)", refusal.message, type(error).__name__)
        return refusal


def client() -> aiohttp.ClientSession:
    """The only client that sees real keys: no cookies, no proxies of the environment, nothing added by itself."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=CONNECTIONS, ttl_dns_cache=60, keepalive_timeout=15),
        timeout=aiohttp.ClientTimeout(
            total=None, connect=3 * CONNECT_SECONDS, sock_connect=CONNECT_SECONDS, sock_read=SILENCE_SECONDS
        ),
        cookie_jar=aiohttp.DummyCookieJar(),
        skip_auto_headers=("User-Agent", "Content-Type", "Accept"),
        trust_env=False,
    )


async def _read(request: web.Request, allowed_model: str | None) -> Body:
    """JSON whole, for it names the model; anything else, such as sound, as it streams in."""
    if not request.can_read_body:
        return None
    if request.content_type.startswith("multipart/"):
        return _limited(request)
    raw = await read_body(request, BODY_BYTES)
    model_rule.check_body(raw, is_json=request.content_type.endswith("json"), allowed=allowed_model)
    return raw


async def _limited(request: web.Request) -> AsyncIterator[bytes]:
    size = 0
    async for chunk in request.content.iter_any():
        size += len(chunk)
        if size > BODY_BYTES:
            raise Refusal(413, f"body: at most {BODY_BYTES} bytes")
        yield chunk


async def _pass_on(request: web.Request, answer: aiohttp.ClientResponse, key: str) -> web.StreamResponse:
    """Every piece at once, masked: an engine that streams shows the first word when the model says it."""
    response = web.StreamResponse(status=answer.status, headers=headers.incoming(answer.headers, key=key))
    await response.prepare(request)
    mask = StreamMask([key])
    async for chunk in answer.content.iter_any():
        await response.write(mask.feed(chunk))
    await response.write(mask.finish())
    await response.write_eof()
    return response
