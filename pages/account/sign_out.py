"""/sign-out: end the session."""

from __future__ import annotations

from django.http import HttpResponseBase
from rest_framework.request import Request

from accounts import sessions
from accounts.models import Session
from pages.account import sign_in_links, visitors
from pages.account.base import AccountPageViewSet


class SignOutPage(AccountPageViewSet):
    permission_classes = ()

    def create(self, request: Request) -> HttpResponseBase:
        """End the session, so that its token is invalid in every browser. Calling this twice is harmless."""
        if isinstance(request.auth, Session):
            sessions.end(request.auth)
        response = self.go(sign_in_links.SIGN_IN)
        visitors.forget(response)
        return response
