"""`/agents/{id}/replay`."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents.replay import listing, recording
from agents.serializers.replay import (
    DeleteReplaySerializer,
    ListReplaySerializer,
    PutReplaySerializer,
    ReplayEntrySerializer,
    ReplayEnvelope,
    ReplaySwitchEnvelope,
)
from agents.views.base import AgentViewSet

_TOOL = {
    "id": "rpl_5f0c9d2e7a41b3886d20c4f1",
    "at": "2026-11-28T06:30:02.123456Z",
    "kind": "tool.call",
    "door": "chat",
    "session": "ses_5f0c9d2e7a41b3886d20c4f1",
    "turn": "0b6f2d9c41e7a358",
    "model": "openai:gpt-6-luna",
    "inputTokens": None,
    "cachedTokens": None,
    "outputTokens": None,
    "estimated": False,
    "usd": None,
    "durationMs": None,
    "hop": None,
    "cause": None,
    "error": None,
    "tool": "search",
    "asked": None,
    "answered": None,
    "arguments": '{"q": "owls"}',
    "count": None,
}


class ReplayViewSet(AgentViewSet):
    serializer_class = PutReplaySerializer
    own_fields = ("list",)

    @extend_schema(
        parameters=[ListReplaySerializer],
        responses=ReplayEnvelope,
        examples=[OpenApiExample("Its model asked for a tool", value={"replay": [_TOOL], "recording": True})],
    )
    def list(self, request: Request, id: str) -> Response:
        """Read what the agent did: its turns, model calls and the tools that its model asked for, newest first.

        The pod's gateway records it, whatever the engine is: of each turn who asked and how it ended, of each model
        call the tokens, USD, duration and error, and the first 200 characters of what was asked and answered, without
        the agent's secrets. Kept for 30 days and at most 2,000 entries a day; an entry of the kind `not.kept` counts
        the others. The newest half minute may be missing. All of them up to 1,000; beyond that, or with `limit`, the
        next page is in `Link: <…>; rel="next"`. With `recording` false nothing new comes.
        """
        agent = self.own_agent(id)
        query = self.query(ListReplaySerializer)
        page = listing.page(agent, **query)
        rows = ReplayEntrySerializer(page.rows, many=True, only=query.get("fields")).data
        return Response({"replay": rows, "recording": recording.is_on(agent)}, headers=page.headers)

    @extend_schema(request=PutReplaySerializer, responses=ReplaySwitchEnvelope)
    def update(self, request: Request, id: str) -> Response:
        """Switch the recording on or off. It is on until its owner switches it off.

        The pod hears it within half a minute, and from this call on nothing that it hands over is stored. What was
        recorded stays until it is 30 days old or deleted (`DELETE /agents/{id}/replay`).
        """
        agent = self.own_agent(id)
        is_on = recording.switch(agent, is_on=self.valid(request)["recording"], actor=self.actor())
        return Response(ReplaySwitchEnvelope({"recording": is_on}).data)

    @extend_schema(request=None, parameters=[DeleteReplaySerializer], responses={204: None})
    def destroy(self, request: Request, id: str) -> Response:
        """Delete what was recorded until now, of one conversation (`session`) or all. It does not come back.

        What the pod has recorded but not handed over yet goes too. Recording goes on, unless it is switched off.
        """
        agent = self.own_agent(id)
        recording.delete(agent, actor=self.actor(), **self.query(DeleteReplaySerializer))
        return Response(status=204)
