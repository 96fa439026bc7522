"""/account"""

from __future__ import annotations

from django.http import HttpResponseBase
from rest_framework.request import Request

from billing.pages.base import PageViewSet


class AccountViewSet(PageViewSet):
    def retrieve(self, request: Request) -> HttpResponseBase:
        return self.page("account.html", {})
