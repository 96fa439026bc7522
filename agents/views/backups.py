"""`/agents/{id}/backups`."""

from __future__ import annotations

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents.backups import by_owner, downloading, removing
from agents.backups.serializers import BackupEnvelope, BackupsEnvelope
from agents.views.base import AgentViewSet

GZIP = "application/gzip"


class BackupsViewSet(AgentViewSet):
    refusals = {"create": {409}, "destroy": {409}}

    @extend_schema(responses=BackupsEnvelope)
    def list(self, request: Request, id: str) -> Response:
        """The agent's backups, the newest first."""
        return Response(BackupsEnvelope({"backups": by_owner.listed(self.own_agent(id))}).data)

    @extend_schema(request=None, responses=BackupEnvelope)
    def create(self, request: Request, id: str) -> Response:
        """Back up the agent's data now.

        Takes as long as it takes to read what is new, and is waited for a minute: then 503 with `Retry-After`, while
        the backup goes on. A repeat joins the one that is being made. 409 unless the agent's pod is there.
        """
        backup = by_owner.take(self.own_agent(id), actor=self.actor())
        return Response(BackupEnvelope({"backup": backup}).data)

    @extend_schema(responses={(200, GZIP): OpenApiTypes.BINARY})
    def retrieve(self, request: Request, id: str, name: str) -> StreamingHttpResponse:
        """The backup as a tar.gz. An archive that could not be sent whole breaks off."""
        backup = by_owner.named(self.own_agent(id), name)
        response = StreamingHttpResponse(downloading.archive(backup), content_type=GZIP)
        response["Content-Disposition"] = f'attachment; filename="{backup.name}.tar.gz"'
        response["Cache-Control"] = "no-store"
        return response

    @extend_schema(request=None, responses={204: None})
    def destroy(self, request: Request, id: str, name: str) -> Response:
        """Delete this backup. 409 while the agent is being restored from it."""
        removing.delete(by_owner.named(self.own_agent(id), name), actor=self.actor())
        return Response(status=204)
