"""The pod's access to its backups. restic, in the engine's container, calls this proxy on the pod's loopback address.
The gateway calls the platform's backup endpoint with a credential that the engine never sees. The credential is valid
for this agent's repository only.
"""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp import web

from agents.pod.gateway.answers import Refusal, same_secret
from agents.pod.gateway.bridge import Bridge
from agents.pod.gateway.pod import Pod
from agents.pod.turns.failures import EngineError

PATH = "/backup"
CALLS = 8  # the most calls at a time
SILENCE_SECONDS = 120.0
CONNECT_SECONDS = 10.0
# All paths that restic uses. The endpoint decides what a path may do.
_ASKED = re.compile(r"(?:config|[a-z]+/|[a-z]+/[0-9a-f]{64})")
_SENT = ("Content-Length", "Content-Type", "Range", "Accept")
_RETURNED = ("Content-Length", "Content-Type", "Content-Range")


@dataclass(frozen=True, slots=True)
class _Way:
    """The current target of the proxy. `credential` opens the endpoint, `token` opens this proxy."""

    url: str
    credential: str = field(repr=False)
    token: str = field(repr=False)


class BackupCalls:
    def __init__(self, pod: Pod, bridge: Bridge, session: aiohttp.ClientSession) -> None:
        self._pod = pod
        self._bridge = bridge
        self._session = session
        self._way: _Way | None = None
        self._open = 0

    async def order(self, what: str, order: dict[str, Any]) -> web.Response:
        """Store the credentials of this order, pass the order to the bridge, and return the bridge's report. `what` is
        "backup" or "restore".
        Raises Refusal: 400 for a wrong body, 503 if the bridge does not take the order.
        """
        try:
            way = _way_of(order, self._pod.start.agent_id)
            inner = {name: order[name] for name in ("id", "password", "most_bytes", "snapshot")}
        except (KeyError, TypeError) as error:
            raise Refusal(400, "body: must be {id, url, credential, password, most_bytes, snapshot}") from error
        self._way = way
        start = self._pod.start
        inner |= {
            "agent_id": start.agent_id,
            "token": way.token,
            "url": f"http://{start.llm_host}:{start.llm_port}{PATH}/",
        }
        try:
            return web.json_response(await self._bridge.order(what, inner))
        except EngineError as error:
            raise Refusal(503, str(error), Retry_After="5") from error

    def routes(self) -> list[web.RouteDef]:
        return [web.route("*", PATH + "/{asked:.*}", self.forward)]

    async def forward(self, request: web.Request) -> web.StreamResponse:
        """Forward one request of restic, with the gateway's credential in place of restic's own."""
        way = self._way
        if way is None or not same_secret(_shown(request), way.token):
            raise Refusal(401, "Authorization: no backup is being made with this", WWW_Authenticate="Basic")
        asked = request.match_info["asked"]
        if not _ASKED.fullmatch(asked):
            raise Refusal(403, "the repository is made and kept by the platform")
        if self._open >= CALLS:
            raise Refusal(503, f"{CALLS} requests are under way", Retry_After="1")
        self._open += 1
        try:
            return await self._relay(request, way, asked)
        except (aiohttp.ClientError, TimeoutError) as error:
            if request.transport is None or request.transport.is_closing():
                raise
            raise Refusal(502, f"the endpoint of backups does not answer ({type(error).__name__})") from error
        finally:
            self._open -= 1

    async def _relay(self, request: web.Request, way: _Way, asked: str) -> web.StreamResponse:
        sent = {name: request.headers[name] for name in _SENT if name in request.headers}
        async with self._session.request(
            request.method,
            f"{way.url}/{asked}",
            headers={**sent, "Authorization": f"Bearer {way.credential}"},
            data=request.content if request.can_read_body else None,
            allow_redirects=False,
        ) as answer:
            returned = {name: answer.headers[name] for name in _RETURNED if name in answer.headers}
            response = web.StreamResponse(status=answer.status, headers=returned)
            await response.prepare(request)
            async for chunk in answer.content.iter_any():
                await response.write(chunk)
            await response.write_eof()
            return response


def client() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=CALLS),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=SILENCE_SECONDS),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        trust_env=False,
    )


def _way_of(order: dict[str, Any], agent_id: str) -> _Way:
    """Build the target from an order. The token is derived from the credential, so that a restarted gateway accepts the
    same token.
    Raises KeyError, TypeError for a wrong order.
    """
    url, credential = order["url"], order["credential"]
    if not isinstance(url, str) or not isinstance(credential, str):
        raise TypeError
    repository = order.get("repository") or agent_id
    if not isinstance(repository, str) or not repository.isidentifier():
        raise TypeError
    token = hashlib.sha256(f"door {credential}".encode()).hexdigest()
    return _Way(f"{url.rstrip('/')}/{repository}", credential, token)


def _shown(request: web.Request) -> str:
    scheme, _, value = request.headers.get("Authorization", "").partition(" ")
    try:
        return base64.b64decode(value, validate=True).decode().partition(":")[2] if scheme == "Basic" else ""
    except ValueError:
        return ""
