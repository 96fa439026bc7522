"""HTTP for the A2A endpoint: checks the caller, takes JSON-RPC, and answers with JSON or server-sent events."""

from __future__ import annotations

import hashlib
import json
from contextlib import aclosing
from typing import Any

from aiohttp import web

from agents.pod.gateway import sse
from agents.pod.gateway.a2a import card, methods
from agents.pod.gateway.a2a.dialects import VERSION_HEADER
from agents.pod.gateway.a2a.errors import A2aError, ContentTypeNotSupported, InvalidRequest, NotJson
from agents.pod.gateway.a2a.tasks import Tasks
from agents.pod.gateway.answers import BODY_BYTES, Refusal, read_body, same_secret
from agents.pod.gateway.pod import Pod

CARD_PATHS = (card.PATH, *card.OLD_PATHS)
RPC_PATHS = ("/a2a", "/a2a/")


class A2a:
    def __init__(self, pod: Pod, tasks: Tasks) -> None:
        self._pod = pod
        self._tasks = tasks

    def route(self, app: web.Application) -> None:
        for path in CARD_PATHS:
            app.router.add_get(path, self.card)
        for path in RPC_PATHS:
            app.router.add_post(path, self.call)

    async def card(self, request: web.Request) -> web.Response:
        self._token()
        return card.answer(request, self._pod)

    async def call(self, request: web.Request) -> web.StreamResponse:
        """Answer one JSON-RPC call. A wrong token is an HTTP error; every other mistake is a JSON-RPC error."""
        owner = self._peer(request)
        call_id: Any = None
        name = ""
        try:
            body = await _read(request)
            call_id, name = _id_of(body), _method_of(body)
            method, dialect = methods.choose(name, request.headers.get(VERSION_HEADER, ""))
            asked = methods.A2aCall(self._tasks, dialect, _params_of(body), owner)
            del body  # the call may wait for minutes, and one mebibyte of JSON takes about twenty as objects
            result = await method(asked)
        except A2aError as error:
            refusal = {"jsonrpc": "2.0", "id": call_id, "error": error.body()}
            # Clients of 0.3 that asked for a stream expect the error inside a stream.
            return await _only(request, refusal) if name in methods.OLD_STREAMS else web.json_response(refusal)
        if isinstance(result, dict):
            return web.json_response(_answer(call_id, result))
        return await _stream(request, call_id, result)

    def _token(self) -> str:
        """The token that peers must send. Raises Refusal (404) while the a2a toolset is off."""
        token = self._pod.secrets.a2a_token
        if not self._pod.config.a2a_enabled or not token:
            raise Refusal(404, "this agent does not speak A2A")
        return token

    def _peer(self, request: web.Request) -> str:
        token = self._token()
        if not same_secret(request.headers.get("Authorization", ""), f"Bearer {token}"):
            raise Refusal(401, "Authorization: the agent's A2A token is missing or wrong", WWW_Authenticate="Bearer")
        return hashlib.sha256(token.encode()).hexdigest()


async def _read(request: web.Request) -> dict[str, Any]:
    if request.content_type != "application/json":
        raise ContentTypeNotSupported("Content-Type: must be application/json")
    try:
        body = json.loads(await read_body(request, BODY_BYTES))
    except (ValueError, RecursionError) as error:
        raise NotJson("the body is not valid JSON") from error
    if not isinstance(body, dict):
        raise InvalidRequest("the body must be one JSON-RPC request; batches are not supported")
    return body


def _id_of(body: dict[str, Any]) -> str | int | None:
    found = body.get("id")
    return found if isinstance(found, str) or type(found) is int else None


def _method_of(body: dict[str, Any]) -> str:
    name = body.get("method")
    if body.get("jsonrpc") != "2.0" or not isinstance(name, str) or not name:
        raise InvalidRequest("jsonrpc must be '2.0' and method a name")
    if "id" in body and body["id"] is not None and _id_of(body) is None:
        raise InvalidRequest("id must be text or a whole number")
    return name


def _params_of(body: dict[str, Any]) -> dict[str, Any]:
    given = body.get("params")
    return given if isinstance(given, dict) else {}


def _answer(call_id: str | int | None, result: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": call_id, "result": result}


async def _only(request: web.Request, told: dict[str, Any]) -> web.StreamResponse:
    response = sse.response()
    await sse.send(request, response, f"data: {json.dumps(told)}\n\n".encode())
    return response


async def _stream(request: web.Request, call_id: str | int | None, results: methods.Stream) -> web.StreamResponse:
    response = sse.response()
    async with aclosing(sse.with_pings(results)) as events:
        async for result in events:
            data = sse.PING if result is None else f"data: {json.dumps(_answer(call_id, result))}\n\n".encode()
            await sse.send(request, response, data)
    return response
