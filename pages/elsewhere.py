"""Addresses that are almost the address of a page."""

from __future__ import annotations

from django.http import HttpResponseBase, HttpResponsePermanentRedirect
from rest_framework.request import Request

from config.errors import NotFound
from pages.account.base import AccountPageViewSet
from pages.languages import Language, address
from pages.public.base import PublicPageViewSet


class NoSuchPage(NotFound):
    message = "no such page"


class ElsewhereViewSet(PublicPageViewSet):
    def retrieve(self, request: Request, rest: str = "", lang: Language | None = None) -> HttpResponseBase:
        """Redirect `/ru` to `/ru/`, and `/p/exam-coach/` to `/p/exam-coach`. Raises NoSuchPage for other addresses."""
        section = "" if lang else f"{request.path.split('/')[1]}/"
        if not rest or rest.endswith("/"):
            return HttpResponsePermanentRedirect(address(f"{section}{rest.rstrip('/')}", lang))
        raise NoSuchPage


class ElsewherePage(AccountPageViewSet):
    shown_in_look = True
    permission_classes = ()

    def retrieve(self, request: Request, rest: str = "") -> HttpResponseBase:
        """Redirect `/account/` to `/account`. Raises NoSuchPage for other addresses."""
        if not rest or rest.endswith("/"):
            return self.go(self.sent.get_full_path().partition("?")[0].rstrip("/"))
        raise NoSuchPage
