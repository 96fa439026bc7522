"""The MCP server for the pod's own engine. It is written by hand, because the official SDK would double the gateway's
memory.
Streamable HTTP without sessions: every POST is answered with JSON, and the server sends nothing by itself.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from agents.engines.base import PEERS_PATH
from agents.pod.gateway.answers import BODY_BYTES, Refusal, read_body
from agents.pod.gateway.llm import headers
from agents.pod.gateway.peers.calls import Peers
from agents.pod.gateway.peers.dialling import PeerFailure
from agents.pod.gateway.peers.tools import TOOLS, BadArguments, run
from agents.pod.gateway.pod import Pod

# A client that asks for none of these versions is offered the first.
VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
Json = dict[str, Any]


class RpcError(Exception):
    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.body = {"code": code, "message": message}


class PeersServer:
    def __init__(self, pod: Pod, peers: Peers) -> None:
        self._pod = pod
        self._peers = peers
        self._methods: dict[str, Callable[[Json], Awaitable[Json]]] = {
            "initialize": self._initialize,
            "ping": self._ping,
            "tools/list": self._list,
            "tools/call": self._call,
        }

    def route(self, app: web.Application) -> None:
        app.router.add_post(PEERS_PATH, self.post)
        app.router.add_route("*", PEERS_PATH, self.nothing_else)

    async def post(self, request: web.Request) -> web.Response:
        self._check(request)
        call_id: Any = None
        try:
            body = _message(await read_body(request, BODY_BYTES))
            if "method" not in body or "id" not in body:
                return web.Response(status=202)  # a notification, or an answer to a question that was not asked
            call_id = _id(body)
            answer = {"result": await self._answer(body)}
        except RpcError as error:
            answer = {"error": error.body}
        return web.json_response({"jsonrpc": "2.0", "id": call_id, **answer})

    async def nothing_else(self, _: web.Request) -> web.Response:
        """There is no stream to listen to and no session to end."""
        raise Refusal(405, "this MCP server takes POST only", Allow="POST")

    def _check(self, request: web.Request) -> None:
        """Accept only the pod's own engine, and no web page in a browser. Raises Refusal."""
        if "Origin" in request.headers:
            raise Refusal(403, "Origin: browsers are not allowed here")
        headers.check_token(headers.shown_keys(request.headers), self._pod.start.llm_token)
        if request.content_type != "application/json":
            raise Refusal(415, "Content-Type: must be application/json")

    async def _answer(self, body: Json) -> Json:
        method, params = body["method"], body.get("params")
        do = self._methods.get(method) if isinstance(method, str) else None
        if do is None:
            raise RpcError(-32601, "Method not found")
        return await do(params if isinstance(params, dict) else {})

    async def _initialize(self, params: Json) -> Json:
        asked = params.get("protocolVersion")
        return {
            "protocolVersion": asked if asked in VERSIONS else VERSIONS[0],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "agentpods-peers", "version": "1"},
        }

    async def _ping(self, _: Json) -> Json:
        return {}

    async def _list(self, _: Json) -> Json:
        return {"tools": TOOLS}

    async def _call(self, params: Json) -> Json:
        """Run a tool. Mistakes of the model and failures of a peer are normal results, so that the model reads them and
        continues.
        """
        if not self._pod.config.has_peers:
            return _result({"error": "this agent has no peers at the moment"}, failed=True)
        try:
            return _result(await run(self._peers, params.get("name"), params.get("arguments")))
        except BadArguments as error:
            return _result({"error": str(error)}, failed=True)
        except PeerFailure as failure:
            return _result({"error": f"the peer was not reached or did not answer: {failure}"}, failed=True)


def _message(raw: bytes) -> Json:
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise RpcError(-32700, "the body is not valid JSON") from error
    if not isinstance(body, dict) or body.get("jsonrpc") != "2.0":
        raise RpcError(-32600, "the body must be one message of JSON-RPC 2.0")
    return body


def _id(body: Json) -> str | int:
    found = body["id"]
    if not isinstance(found, str) and type(found) is not int:
        raise RpcError(-32600, "id must be text or a whole number")
    return found


def _result(said: Json, *, failed: bool = False) -> Json:
    """The result as JSON text, so that the model can tell a peer's words from its instructions."""
    text = json.dumps(said, ensure_ascii=False)
    return {"content": [{"type": "text", "text": text}], "isError": failed}
