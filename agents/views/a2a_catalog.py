"""`GET /a2a-catalog`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from agents.serializers.agents import A2aCatalogEnvelope, FindA2aSerializer
from agents.talking import a2a_catalog
from config.api import ApiViewSet


class A2aCatalogViewSet(ApiViewSet):
    authentication_classes = ()
    permission_classes = (AllowAny,)

    @extend_schema(parameters=[FindA2aSerializer], responses=A2aCatalogEnvelope)
    def list(self, request: Request) -> Response:
        """List the agents whose owners opted in, for other agents to find.

        Only those that run with A2A on, newest first; nothing of their owners, and no token: whoever wants to speak
        with one asks its owner for that. The next page is in `Link: <…>; rel="next"`.
        """
        page = a2a_catalog.page(**self.query(FindA2aSerializer))
        return Response(A2aCatalogEnvelope({"agents": page.agents}).data, headers=page.headers)
