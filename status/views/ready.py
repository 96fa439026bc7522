from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from config.api import ApiViewSet
from status import components
from status.serializers import ReadinessSerializer


class ReadyViewSet(ApiViewSet):
    authentication_classes = ()
    permission_classes = ()
    serializer_class = ReadinessSerializer

    def retrieve(self, request: Request) -> Response:
        """Whether the process can serve requests.

        503 only while the database does not answer; a cache, queue or cluster that is down
        slows work and loses none."""
        checks = components.readiness()
        return Response(self.get_serializer({"status": "ok", "checks": checks}).data)
