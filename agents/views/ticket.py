"""`POST /agents/{id}/ticket`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.authentication import key_of
from agents.serializers.agents import TicketEnvelope, TicketSerializer
from agents.talking import ticket
from agents.views.base import AgentViewSet


class TicketViewSet(AgentViewSet):
    refusals = {"create": {409}}

    @extend_schema(request=None, responses=TicketEnvelope)
    def create(self, request: Request, id: str) -> Response:
        """Make a link that opens the pod's own page for a person: once, within 60 seconds."""
        link = ticket.mint(self.own_agent(id), key=key_of(request))
        return Response({"ticket": TicketSerializer(link).data})
