"""`POST /agents/{id}/talk-test`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.authentication import key_of
from agents.serializers.agents import TalkTestEnvelope, TalkTestSerializer
from agents.talking import talk_test
from agents.views.base import AgentViewSet


class TalkTestViewSet(AgentViewSet):
    refusals = {"create": {409}}
    no_dry_run = {"create": "it is a test itself, of a real turn; GET /agents/{id}/explain costs nothing"}

    @extend_schema(request=None, responses=TalkTestEnvelope)
    def create(self, request: Request, id: str) -> Response:
        """Send one word through gateway, engine and model, and look at each channel: which hop is silent, and why.

        Takes seconds, at most 90. The word is a real turn in a conversation of its own, so it costs a model call;
        without a model key nobody is asked and the hop `model` says so. Also for an agent that is `failed` or still
        `provisioning`; 409 for a stopped one.
        """
        test = talk_test.run(self.own_agent(id), key=key_of(request))
        return Response({"talkTest": TalkTestSerializer(test).data})
