"""`GET /agents/{id}/liveness`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents.serializers.agents import LivenessEnvelope, LivenessSerializer
from agents.views.base import AgentViewSet
from agents.watching import liveness


class LivenessViewSet(AgentViewSet):
    @extend_schema(responses=LivenessEnvelope)
    def retrieve(self, request: Request, id: str) -> Response:
        """Tell whether the pod is there and whether it serves.

        `serving: false` right after `running` means that the pod is booting: wait up to three minutes.
        """
        return Response({"liveness": LivenessSerializer(liveness.of(self.own_agent(id))).data})
