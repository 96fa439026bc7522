"""`/agents/{id}/backups`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents.backups import asking
from agents.backups.serializers import BackupEnvelope, BackupsEnvelope
from agents.views.base import AgentViewSet


class BackupsViewSet(AgentViewSet):
    refusals = {"create": {409}}

    @extend_schema(responses=BackupsEnvelope)
    def list(self, request: Request, id: str) -> Response:
        """The agent's backups, the newest first."""
        return Response(BackupsEnvelope({"backups": asking.listed(self.own_agent(id))}).data)

    @extend_schema(request=None, responses=BackupEnvelope)
    def create(self, request: Request, id: str) -> Response:
        """Back up the agent's data now.

        Takes as long as it takes to read what is new, and is waited for a minute: then 503 with `Retry-After`, while
        the backup goes on. A repeat joins the one that is being made. 409 unless the agent's pod is there.
        """
        backup = asking.take(self.own_agent(id), actor=self.actor())
        return Response(BackupEnvelope({"backup": backup}).data)
