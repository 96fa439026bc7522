"""/account/keys/{id}/revoke: revoke an API key."""

from __future__ import annotations

from django.http import HttpResponseBase
from django.utils import timezone
from rest_framework.request import Request

from accounts import keys
from accounts.authentication import caller
from pages.account import sign_in_links
from pages.account.base import AccountPageViewSet


class RevokePage(AccountPageViewSet):
    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        """Ask first, since it cannot be undone."""
        key = keys.own(caller(request), id)
        return self.go(f"{sign_in_links.ACCOUNT}#keys") if key.revoked_at else self.page("revoke.html", {"key": key})

    def create(self, request: Request, id: str) -> HttpResponseBase:
        keys.revoke(caller(request), id, now=timezone.now())
        return self.go(f"{sign_in_links.ACCOUNT}#keys")
