"""GET /me"""

from __future__ import annotations

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.authentication import caller
from accounts.serializers import MeSerializer
from config.api import ApiViewSet


class MeViewSet(ApiViewSet):
    serializer_class = MeSerializer

    @extend_schema(
        examples=[
            OpenApiExample("Ann", value={"user": {"id": "usr_5f0c9d2e7a41b3886d20c4f1", "email": "ann@example.com"}})
        ]
    )
    def retrieve(self, request: Request) -> Response:
        """Tell whose token this is.

        The person that the session token or API key belongs to. Changes nothing.
        """
        return Response(self.get_serializer({"user": caller(request)}).data)
