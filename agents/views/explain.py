"""`GET /agents/{id}/explain`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents.serializers.agents import ExplanationEnvelope, ExplanationSerializer
from agents.views.base import AgentViewSet
from agents.watching import explanation


class ExplainViewSet(AgentViewSet):
    @extend_schema(responses=ExplanationEnvelope)
    def retrieve(self, request: Request, id: str) -> Response:
        """Explain the agent's state: cause, evidence, and the next call to make (null when all is well).

        Of several causes the most urgent one; `evidence` lists the others, a line `also …` each.
        """
        return Response({"explanation": ExplanationSerializer(explanation.of(self.own_agent(id))).data})
