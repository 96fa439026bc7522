"""`GET /agents/{id}/memory`."""

from __future__ import annotations

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents.configuring import memory
from agents.serializers.agents import MemoryEnvelope
from agents.views.base import AgentViewSet

CUT = "Memory-Cut"
BACKUP = "Memory-Backup"


class MemoryViewSet(AgentViewSet):
    refusals = {"retrieve": {409}}

    @extend_schema(
        responses=MemoryEnvelope,
        parameters=[
            OpenApiParameter(
                CUT,
                OpenApiTypes.STR,
                OpenApiParameter.HEADER,
                response=[200],
                description="`true` where there is more than is shown. A content that is cut says so in its last line.",
            ),
            OpenApiParameter(
                BACKUP,
                OpenApiTypes.STR,
                OpenApiParameter.HEADER,
                response=[200],
                description="The name of the backup that it is read from, where the pod cannot be asked.",
            ),
        ],
    )
    def retrieve(self, request: Request, id: str) -> Response:
        """Tell what the agent is and what it has learned.

        `soul` is the text that its engine is given; skills and memories are read from the engine's own files, at most
        500 of each and 256 KiB of contents. Of an agent without a pod, what they held at its newest backup; 409 where
        there is none.
        """
        found = memory.of(self.own_agent(id))
        headers = {CUT: "true" if found.is_cut else "", BACKUP: found.backup}
        given = {name: value for name, value in headers.items() if value}
        return Response(MemoryEnvelope({"memory": found}).data, headers=given)
