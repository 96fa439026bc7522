"""`POST /agents/{id}/chat`."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any

from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from accounts.authentication import key_of
from agents.pod.turns import parts
from agents.pod.turns.events import Delta, Done, PartGiven, TurnEvent
from agents.pod.turns.failures import HopFailure
from agents.runtimes.turns import ChatReply
from agents.serializers.agents import ChatSerializer, ReplySerializer
from agents.talking import chat
from agents.talking.chat import TurnEvents
from agents.views.base import AgentViewSet
from agents.views.streaming import answered, streamed
from config import promises
from config.api import camel
from config.parsing import room_for
from config.streams import EVENT_STREAM, Beginning


class ChatViewSet(AgentViewSet):
    serializer_class = ChatSerializer
    max_body_bytes = room_for(utf8_bytes=chat.MAX_MESSAGE_BYTES)
    refusals = {"create": {409}}
    no_dry_run = {"create": "the agent would answer, and remember it"}

    @extend_schema(
        request=ChatSerializer,
        responses={(200, "application/json"): ReplySerializer, (200, EVENT_STREAM): str},
    )
    def create(self, request: Request, id: str) -> HttpResponseBase:
        """Say something to the agent and wait for its reply.

        The reply is empty while no model key is installed. Give the returned `sessionId` back to go on with the same
        conversation. With `Accept: text/event-stream` the reply comes as events: `delta` {text}, then `done` {reply,
        sessionId} or `error` {error, message}. 503 names the hop that failed: gateway, engine or model.

        An agent that gives files, links or data beside its words has them in `parts`, which is absent otherwise; as
        events each is a `part`. Links are never followed here, and no content is looked into.
        """
        agent = self.own_agent(id)
        body = self.valid(request)
        turn = chat.begin(agent, message=body["message"], session_id=body.get("session_id"), key=key_of(request))
        if EVENT_STREAM in request.headers.get("Accept", ""):
            return streamed(self, request, turn, _wire)
        return answered(self, request, turn, _whole)


def _whole(said: ChatReply) -> Beginning:
    beside = {"parts": [parts.wire(part) for part in said.parts]} if said.parts else {}
    return promises.whole(ReplySerializer({"reply": said.reply, "session_id": said.session_id, **beside}).data)


async def _wire(events: TurnEvents) -> AsyncGenerator[bytes, None]:
    try:
        async for event in events:
            if event:
                yield _sse(*_told(event))
    except HopFailure as failure:
        yield _sse("error", {"error": "INTERNAL", "message": f"{failure.hop}: {failure.message}"})


def _told(event: TurnEvent) -> tuple[str, dict[str, Any]]:
    match event:
        case Delta(text):
            return "delta", {"text": text}
        case PartGiven(part):
            return "part", {camel(name): value for name, value in parts.wire(part).items()}
        case Done(reply, session_id, _):
            return "done", {"reply": reply, "sessionId": session_id}


def _sse(name: str, data: dict[str, Any]) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()
