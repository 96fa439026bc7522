"""/sign-out"""

from __future__ import annotations

from django.http import HttpResponseBase
from rest_framework.request import Request

from accounts import sessions
from accounts.models import Session
from billing.pages import doors, visitors
from billing.pages.base import PageViewSet


class SignOutViewSet(PageViewSet):
    permission_classes = ()

    def create(self, request: Request) -> HttpResponseBase:
        """The session ends everywhere, not only in this browser. Twice is fine."""
        if isinstance(request.auth, Session):
            sessions.end(request.auth)
        response = self.go(doors.SIGN_IN)
        visitors.forget(response)
        return response
