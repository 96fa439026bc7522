"""/account/look/end: an operator ends the look at a person's account."""

from __future__ import annotations

from django.http import HttpResponseBase
from rest_framework.request import Request

from pages.account import looking
from pages.account.base import AccountPageViewSet


class LookEndPage(AccountPageViewSet):
    permission_classes = ()
    ends_look = True

    def create(self, request: Request) -> HttpResponseBase:
        """Back to the person's page in the console. Ending it twice is harmless."""
        response = self.go(looking.end(self.sent))
        looking.forget(response)
        return response
