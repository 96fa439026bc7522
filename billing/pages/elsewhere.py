"""Redirects for URLs that are nearly right."""

from __future__ import annotations

from django.http import HttpResponseBase
from rest_framework.request import Request

from billing.pages.base import AccountPageViewSet
from catalog.pages.elsewhere import NoSuchPage


class ElsewherePage(AccountPageViewSet):
    permission_classes = ()

    def retrieve(self, request: Request, rest: str = "") -> HttpResponseBase:
        """Redirect `/account/` to `/account`."""
        if not rest or rest.endswith("/"):
            return self.go(self.sent.get_full_path().partition("?")[0].rstrip("/"))
        raise NoSuchPage
