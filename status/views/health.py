from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from config.api import ApiViewSet
from status.serializers import HealthSerializer

ALIVE = {"status": "ok"}  # web answers it without a thread (config/serving)


class HealthViewSet(ApiViewSet):
    authentication_classes = ()
    permission_classes = ()
    serializer_class = HealthSerializer

    def retrieve(self, request: Request) -> Response:
        """Whether the process is up.

        Touches no dependency: use it as a liveness probe. `/health/ready` says whether the process can serve."""
        return Response(ALIVE)
