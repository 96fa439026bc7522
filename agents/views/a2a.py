"""`PUT /agents/{id}/a2a`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents.configuring import a2a
from agents.configuring.a2a import MAX_PEERS
from agents.configuring.changed_by import CHANGED_BY
from agents.serializers.agents import AgentEnvelope, PutA2aSerializer
from agents.views.base import AgentViewSet
from config.parsing import room_for


class A2aViewSet(AgentViewSet):
    changed_by = CHANGED_BY
    serializer_class = PutA2aSerializer
    max_body_bytes = room_for(characters=MAX_PEERS * 4_000)

    @extend_schema(request=PutA2aSerializer, responses=AgentEnvelope)
    def update(self, request: Request, id: str) -> Response:
        """Switch agent-to-agent traffic, opt in to `GET /a2a-catalog`, name the agent's peers, or make another token.

        `enabled` switches the toolset `a2a` with it, and makes or forgets `a2aToken`; `rotateToken` makes another one,
        and the old one is refused from then on. `listed` needs `enabled`. `peers` replaces all of them.
        """
        agent = self.own_agent(id)
        return self.answer(a2a.replace(agent, self.valid(request)))
