"""/robots.txt: crawlers may read the public pages, but not account pages and addresses that need a credential."""

from __future__ import annotations

from django.http import HttpResponse
from rest_framework.request import Request

from pages.languages import address
from pages.public.base import PublicPageViewSet, answer
from pages.public.printing import printed

CLOSED = (
    *("/admin/", "/agents", "/events", "/auth/", "/keys", "/me", "/status/incidents", "/search", "/*/search"),
    *("/account", "/create", "/renew/", "/sign-in", "/sign-out"),
)


class RobotsViewSet(PublicPageViewSet):
    def retrieve(self, request: Request) -> HttpResponse:
        rules = "".join(f"Disallow: {path}\n" for path in CLOSED)
        text = f"User-agent: *\n{rules}\nSitemap: {address('sitemap.xml')}\n"
        return answer(request, printed(text), {}, kind="text/plain; charset=utf-8")
