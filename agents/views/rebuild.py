"""`POST /agents/{id}/rebuild`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents.running import lifecycle
from agents.serializers.agents import AgentEnvelope
from agents.views.base import AgentViewSet
from agents.views.settling import settles


class RebuildViewSet(AgentViewSet):
    refusals = {"create": {409}}

    @extend_schema(request=None, responses=AgentEnvelope)
    @settles
    def create(self, request: Request, id: str) -> Response:
        """Replace the pod and keep its data.

        It goes through `provisioning` to `running` or `failed`, and takes the persona as it is today. 409 while it is
        being provisioned, or when its free time is over. Data that is lost or damaged (`DATA_LOST`, `DATA_DAMAGED`)
        is restored from the newest backup; without one it begins with what is there, or an empty disk.
        """
        return self.answer(lifecycle.rebuild(self.own_agent(id), actor=self.actor()))
