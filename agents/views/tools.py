"""`PUT /agents/{id}/tools`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents.configuring import tools
from agents.configuring.changed_by import CHANGED_BY
from agents.serializers.agents import AgentEnvelope, PutAgentToolsSerializer
from agents.views.base import AgentViewSet
from config.parsing import MAX_BODY_BYTES


class ToolsViewSet(AgentViewSet):
    changed_by = CHANGED_BY
    serializer_class = PutAgentToolsSerializer
    max_body_bytes = MAX_BODY_BYTES

    @extend_schema(request=PutAgentToolsSerializer, responses=AgentEnvelope)
    def update(self, request: Request, id: str) -> Response:
        """Set the toolsets and MCP servers, all of them at once.

        `enabled: []` is the safe minimal set. Ids come from `GET /tools?engine=…`. A toolset whose `keyNeededOn` names
        the agent's engine needs the key of its `service` in `secrets`. Keys are never shown again; one that is not
        given stays, `null` forgets it.
        """
        agent = self.own_agent(id)
        return self.answer(tools.replace(agent, **self.valid(request)))
