"""`GET /domain-check`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents.domains import check
from agents.serializers.domains import AskDomainSerializer, DomainCheckEnvelope
from agents.views.base import AgentViewSet


class DomainCheckViewSet(AgentViewSet):
    @extend_schema(parameters=[AskDomainSerializer], responses=DomainCheckEnvelope)
    def retrieve(self, request: Request) -> Response:
        """Tell where a hostname leads, before or after an agent has it.

        With `https=true` and only when DNS leads here, the service is asked over HTTPS under this name. Nothing is
        claimed by asking.
        """
        found = check.of(self.caller().pk, **self.query(AskDomainSerializer))
        return Response(DomainCheckEnvelope({"check": found}).data)
