"""`POST /chat` for the management listener and for the page: a JSON answer, or events while the words arrive. The page
gets server-sent events, the control plane gets the events in their form inside.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

from aiohttp import web

from agents.pod import session_ids
from agents.pod.gateway import sse
from agents.pod.gateway.answers import Refusal, error_body, read_json
from agents.pod.gateway.spending import key_limits
from agents.pod.gateway.turns import DEADLINE_SECONDS, GatewayTurns, new_session_id
from agents.pod.turns import parts
from agents.pod.turns.events import NDJSON, Delta, Done, PartGiven, TurnEvent, line
from agents.pod.turns.failures import HopFailure

MESSAGE_BYTES = 64 * 1024
# Ten seconds after the turn's own deadline, a client that does not read is cut off.
READER_SECONDS = DEADLINE_SECONDS + 10


async def answer(request: web.Request, turns: GatewayTurns, *, is_inside: bool = False) -> web.StreamResponse:
    """A control plane of an older release asks for server-sent events inside too, and gets them. Only the control plane
    says which API key started the turn.
    """
    body = await read_json(request)
    message, session_id = _question(body)
    turn = turns.take(message, session_id, key=key_limits.of_turn(body) if is_inside else None)
    async with asyncio.timeout(READER_SECONDS), aclosing(turn) as events:
        accepted = request.headers.get("Accept", "")
        if is_inside and NDJSON in accepted:
            return await _stream(request, events, content_type=NDJSON, told=_line)
        if sse.EVENT_STREAM in accepted:
            return await _stream(request, events, content_type=sse.EVENT_STREAM, told=_event)
        return await _whole(events)


def _question(body: dict[str, Any]) -> tuple[str, str]:
    message, session_id = body.get("message"), body.get("session_id")
    if not isinstance(message, str) or not message.strip():
        raise Refusal(400, "message: must be text that is not blank")
    if len(message.encode("utf-8", "replace")) > MESSAGE_BYTES:
        raise Refusal(400, f"message: at most {MESSAGE_BYTES} bytes")
    if not _encodable(message):
        raise Refusal(400, "message: must be valid Unicode text")
    if session_id is None:
        return message, new_session_id()
    if not session_ids.is_permitted(session_id):
        raise Refusal(400, f"session_id: must be {session_ids.PERMITTED}")
    return message, session_id


def _encodable(text: str) -> bool:
    """Whether the text is valid Unicode. JSON allows half of a surrogate pair, which fails later wherever the text is
    written.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


async def _whole(events: AsyncGenerator[TurnEvent, None]) -> web.Response:
    given: list[dict[str, Any]] = []
    try:
        async for event in events:
            if isinstance(event, PartGiven):
                given.append(parts.wire(event.part))
            if isinstance(event, Done):
                beside = {"parts": given} if given else {}
                return web.json_response({"reply": event.reply, "session_id": event.session_id, **beside})
    except HopFailure as failure:
        return _failed(failure)
    raise Refusal(500, "the turn ended without an answer")


async def _stream(
    request: web.Request,
    events: AsyncGenerator[TurnEvent, None],
    *,
    content_type: str,
    told: Callable[[TurnEvent | HopFailure | None], bytes],
) -> web.StreamResponse:
    """Stream a turn. The headers are sent with the first event or ping; if the turn fails before that, the answer is a
    plain 503. `told` makes bytes of each event, of a failure, and of None for a ping.
    """
    response = sse.response(content_type)
    try:
        async with aclosing(sse.with_pings(events)) as coming:
            async for event in coming:
                await sse.send(request, response, told(event))
    except HopFailure as failure:
        if not response.prepared:
            return _failed(failure)
        await sse.send(request, response, told(failure))
    return response


def _line(event: TurnEvent | HopFailure | None) -> bytes:
    return line(event) if event else b"\n"


def _event(event: TurnEvent | HopFailure | None) -> bytes:
    match event:
        case Delta(text):
            return _sse("delta", {"text": text})
        case PartGiven(part):
            return _sse("part", parts.wire(part))
        case Done(reply, session_id, _):
            return _sse("done", {"reply": reply, "session_id": session_id})
        case HopFailure():
            return _sse("error", event.wire())
        case None:
            return sse.PING


def _sse(name: str, body: dict[str, Any]) -> bytes:
    return f"event: {name}\ndata: {json.dumps(body)}\n\n".encode()


def _failed(failure: HopFailure) -> web.Response:
    return web.json_response({**error_body(503, failure.message), **failure.wire()}, status=503)
