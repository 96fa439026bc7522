"""`GET` and `PUT /agents/{id}/limits`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents.serializers.limits import LimitsEnvelope, PutLimitsSerializer
from agents.spending import limits
from agents.views.base import AgentViewSet


class LimitsViewSet(AgentViewSet):
    serializer_class = PutLimitsSerializer

    @extend_schema(responses=LimitsEnvelope)
    def retrieve(self, request: Request, id: str) -> Response:
        """Tell the limits of the agent's model calls; null is no limit."""
        return Response(LimitsEnvelope({"limits": limits.of(self.own_agent(id))}).data)

    @extend_schema(request=PutLimitsSerializer, responses=LimitsEnvelope)
    def update(self, request: Request, id: str) -> Response:
        """Limit what the agent's model calls may take, all limits at once; or stop them with `stopped`.

        The pod keeps the limits in its key proxy, so the engine cannot go round them, and takes a change within
        seconds. At 80 percent of a limit in USD its owner gets a mail, at 100 percent calls are refused until the day
        or month is over (UTC): the provider's protocol gets a 402 with words that the engine shows, and `explain` and
        `GET /events` tell it. A limit is exceeded by one call at most, and by what calls under way take above
        their estimates.
        """
        agent = self.own_agent(id)
        return Response(LimitsEnvelope({"limits": limits.replace(agent, **self.valid(request))}).data)
