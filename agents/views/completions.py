"""`POST /agents/{id}/v1/chat/completions`."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator
from functools import partial
from typing import Any

from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request

from accounts.authentication import key_of
from agents.pod.turns import parts
from agents.pod.turns.events import Delta, PartGiven
from agents.pod.turns.failures import HopFailure
from agents.runtimes.turns import ChatReply
from agents.serializers.openai import CompletionRequestSerializer, CompletionSerializer
from agents.talking import chat, completions
from agents.talking.chat import TurnEvents
from agents.views.base import AgentViewSet
from agents.views.streaming import answered, streamed
from config import promises
from config.ids import new_id
from config.parsing import MAX_BODY_BYTES
from config.streams import EVENT_STREAM, Beginning

SESSION = "Session-Id"


class CompletionsViewSet(AgentViewSet):
    serializer_class = CompletionRequestSerializer
    max_body_bytes = MAX_BODY_BYTES  # such clients send the whole conversation with each call
    refusals = {"create": {409}}
    no_dry_run = {"create": "the agent would answer, and remember it"}

    @extend_schema(
        request=CompletionRequestSerializer,
        responses={(200, "application/json"): CompletionSerializer, (200, EVENT_STREAM): str},
        parameters=[
            OpenApiParameter(
                SESSION,
                OpenApiTypes.STR,
                OpenApiParameter.HEADER,
                description="Which conversation it is, as `sessionId` of `POST …/chat`; else `user` says it.",
            )
        ],
    )
    def create(self, request: Request, id: str) -> HttpResponseBase:
        """Talk to the agent as any client of OpenAI's protocol does.

        Base URL `/agents/{id}/v1`, an API key of ours as the key, any `model`. The agent keeps its own conversations:
        with `user`, or the header `Session-Id`, only what came after its last answer is new; without one all messages
        are one turn of a new conversation. Its soul, tools and model stay its own. With `stream` the reply comes in
        chunks. Tokens are not counted. A file or link that the agent gives is a line of the text that names it, data is
        its JSON: this protocol has no place for them, `POST …/chat` gives them whole.
        """
        agent = self.own_agent(id)
        body = self.valid(request)
        session_id = request.headers.get(SESSION) or None
        asked = completions.asked(body["messages"], user=body.get("user"), session_id=session_id)
        frame = {"id": new_id("cmpl"), "created": int(time.time()), "model": body.get("model") or agent.pk}
        turn = chat.begin(agent, **asked, key=key_of(request))
        if body.get("stream"):
            return streamed(self, request, turn, partial(_chunks, frame))
        return answered(self, request, turn, partial(_whole, frame))


def _whole(frame: dict[str, Any], said: ChatReply) -> Beginning:
    message = {"role": "assistant", "content": completions.text_of(said), "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    body = {**frame, "object": "chat.completion", "choices": [choice]}
    return promises.whole(body, headers={SESSION: said.session_id})


async def _chunks(frame: dict[str, Any], events: TurnEvents) -> AsyncGenerator[bytes, None]:
    yield _chunk(frame, {"role": "assistant", "content": ""})
    try:
        async for event in events:
            if isinstance(event, Delta):
                yield _chunk(frame, {"content": event.text})
            elif isinstance(event, PartGiven):
                yield _chunk(frame, {"content": f"\n\n{parts.line(event.part)}\n\n"})
    except HopFailure as failure:
        yield _data({"error": {"message": f"{failure.hop}: {failure.message}", "code": "INTERNAL"}})
        return
    yield _chunk(frame, {}, finish_reason="stop")
    yield b"data: [DONE]\n\n"


def _chunk(frame: dict[str, Any], delta: dict[str, str], *, finish_reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
    return _data({**frame, "object": "chat.completion.chunk", "choices": [choice]})


def _data(body: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(body, ensure_ascii=False)}\n\n".encode("utf-8", "replace")
