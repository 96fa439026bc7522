"""`POST /agents/{id}/resume`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents.running import lifecycle
from agents.serializers.agents import AgentEnvelope
from agents.views.base import AgentViewSet
from agents.views.settling import settles


class ResumeViewSet(AgentViewSet):
    refusals = {"create": {409}}

    @extend_schema(request=None, responses=AgentEnvelope)
    @settles
    def create(self, request: Request, id: str) -> Response:
        """Start a stopped agent again.

        It goes through `provisioning` to `running` or `failed`. Resuming a running agent changes nothing. 409 when it
        failed (rebuild it) or when its free time is over (the `Link` header says where to pay).
        """
        return self.answer(lifecycle.resume(self.own_agent(id), actor=self.actor()))
