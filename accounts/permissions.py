"""Who may call an endpoint, in addition to having a valid token."""

from __future__ import annotations

from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from accounts.models import Session


class SessionOnly(BasePermission):
    """Only a person who has signed in, not an agent with an API key: a key gets 403."""

    message = "an API key may not do this: use the session token of POST /auth/verify"

    def has_permission(self, request: Request, view: APIView) -> bool:
        return isinstance(request.auth, Session)
