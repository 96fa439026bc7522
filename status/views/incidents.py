from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from config.api import ApiViewSet
from status import components
from status.serializers import IncidentsSerializer


class IncidentsViewSet(ApiViewSet):
    authentication_classes = ()
    permission_classes = ()
    serializer_class = IncidentsSerializer

    def list(self, request: Request) -> Response:
        """The newest 100 incidents, open and resolved, newest first."""
        return Response(self.get_serializer({"incidents": components.incidents()}).data)
