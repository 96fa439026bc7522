"""`POST /agents/{id}/pause`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents.models import Reason
from agents.running import lifecycle
from agents.serializers.agents import AgentEnvelope
from agents.views.base import AgentViewSet
from agents.views.settling import settles


class PauseViewSet(AgentViewSet):
    @extend_schema(request=None, responses=AgentEnvelope)
    @settles
    def create(self, request: Request, id: str) -> Response:
        """Stop the pod; its data is kept.

        The answer shows the status as it is now; `stopped` and its event follow when the pod is down. Undo with
        `POST /agents/{id}/resume`. Pausing a stopped agent changes nothing.
        """
        return self.answer(lifecycle.pause(self.own_agent(id), reason=Reason.OWNER, actor=self.actor()))
