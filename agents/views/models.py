"""`GET /agents/{id}/v1/models` and one of them: the agent as a model, for clients that ask for the list of models."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents.models import Agent
from agents.serializers.openai import AgentModelSerializer, AgentModelsSerializer
from agents.views.base import AgentViewSet
from config.errors import NotFound


class AgentModelsViewSet(AgentViewSet):
    @extend_schema(responses=AgentModelsSerializer)
    def list(self, request: Request, id: str) -> Response:
        """List the one model of OpenAI's protocol that there is: the agent."""
        return Response({"object": "list", "data": [_model(self.own_agent(id))]})

    @extend_schema(responses=AgentModelSerializer)
    def retrieve(self, request: Request, id: str, model: str) -> Response:
        """Show the agent as a model of OpenAI's protocol."""
        agent = self.own_agent(id)
        if model != agent.pk:
            raise NotFound(f"no such model: the only one is {agent.pk}")
        return Response(_model(agent))


def _model(agent: Agent) -> dict[str, Any]:
    return {"id": agent.pk, "object": "model", "created": int(agent.created_at.timestamp()), "owned_by": "agentpods"}
