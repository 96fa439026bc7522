"""`PATCH` and `DELETE /agents/{id}/llm-key`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents.configuring import llm_key
from agents.configuring.changed_by import CHANGED_BY
from agents.serializers.agents import AgentEnvelope, LlmKeySerializer
from agents.views.base import AgentViewSet


class LlmKeyViewSet(AgentViewSet):
    changed_by = CHANGED_BY
    serializer_class = LlmKeySerializer

    @extend_schema(request=LlmKeySerializer, responses=AgentEnvelope)
    def partial_update(self, request: Request, id: str) -> Response:
        """Install or replace the model key, or change only the model.

        The key is checked once with its provider, stored encrypted and given to the pod's gateway alone; only its
        SHA-256 is ever returned. A key that the provider refuses is 400; one that could not be checked is taken, and
        `GET /agents/{id}/explain` says `KEY_UNCHECKED` until the model has answered.
        """
        agent = self.own_agent(id)
        return self.answer(llm_key.change(agent, **self.valid(request)))

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, id: str) -> Response:
        """Remove the model key; the agent then answers but says nothing."""
        llm_key.remove(self.own_agent(id))
        return Response(status=204)
