"""POST /auth/logout"""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from accounts import sessions
from accounts.permissions import SessionOnly
from config.api import ApiViewSet


class LogoutViewSet(ApiViewSet):
    permission_classes = (IsAuthenticated, SessionOnly)
    refusals = {"create": {403}}

    @extend_schema(request=None, responses={204: None})
    def create(self, request: Request) -> Response:
        """Sign out.

        The session token of this call stops working at once; other sessions and API keys stay.
        """
        session: Any = request.auth
        sessions.end(session)
        return Response(status=204)
