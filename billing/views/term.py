"""`GET /agents/{id}/term`."""

from __future__ import annotations

from dataclasses import asdict

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents.errors import renew_url
from agents.views.base import AgentViewSet
from billing import agent_terms
from billing.serializers.plans import TermEnvelope


class TermViewSet(AgentViewSet):
    @extend_schema(responses=TermEnvelope)
    def retrieve(self, request: Request, id: str) -> Response:
        """Tell what an agent runs on, and until when.

        A new one is on `trial`; `paid` after a payment; in `grace` for some days after a payment stopped verifying.
        Unpaid, it is warned 3, 2 and 1 days before `stopsAt` (event `deletion.warning`), stopped then, and deleted with
        its data at `deletesAt`. A person pays at `renewUrl`.
        """
        agent = self.own_agent(id)
        term = agent_terms.term(agent, now=timezone.now())
        return Response(TermEnvelope({"term": {**asdict(term), "renew_url": renew_url(agent.pk)}}).data)
