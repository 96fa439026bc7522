"""`PUT /agents/{id}/tools`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents import tools
from agents.serializers import AgentEnvelope, AgentToolsSerializer
from agents.views.base import AgentViewSet


class ToolsViewSet(AgentViewSet):
    serializer_class = AgentToolsSerializer

    @extend_schema(request=AgentToolsSerializer, responses=AgentEnvelope)
    def update(self, request: Request, id: str) -> Response:
        """Set the toolsets and MCP servers, all of them at once.

        `enabled: []` is the safe minimal set. Ids come from `GET /tools?engine=…`.
        """
        agent = self.own_agent(id)
        return self.answer(tools.replace(agent, **self.valid(request)))
