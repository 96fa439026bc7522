"""`GET /agents/{id}/quota`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents.serializers.agents import QuotaEnvelope
from agents.views.base import AgentViewSet


class QuotaViewSet(AgentViewSet):
    @extend_schema(responses=QuotaEnvelope)
    def retrieve(self, request: Request, id: str) -> Response:
        """Tell how much memory and disk the pod takes of what its tier has.

        Measured about once a minute over all processes of the engine and its data directory; null before the first
        measurement. `status` is `warn` from 85 percent, `grace` from 95 percent; after 60 minutes in grace the pod is
        stopped (`paused`, event `agent.stopped` with reason `quota`). `GET /agents/{id}/explain` tells until when.
        """
        return Response(QuotaEnvelope({"quota": getattr(self.own_agent(id), "quota_snapshot", None)}).data)
