"""Who may call what, beyond having a good token."""

from __future__ import annotations

from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from accounts.models import Session


class SessionOnly(BasePermission):
    """A person at a sign-in, not an agent with a key: 403 to a key."""

    message = "an API key may not do this: use the session token of POST /auth/verify"

    def has_permission(self, request: Request, view: APIView) -> bool:
        return isinstance(request.auth, Session)
