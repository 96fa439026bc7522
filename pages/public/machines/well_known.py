"""Files of /.well-known/: where the API is described (RFC 9727), and where to report a fault of security (RFC 9116)."""

from __future__ import annotations

import json
from datetime import timedelta

from django.http import HttpResponseBase
from django.utils import timezone
from rest_framework.request import Request

from config.operator_settings import operator_settings
from pages.languages import address
from pages.public.base import PublicPageViewSet, answer
from pages.public.printing import printed

API_CATALOG = ".well-known/api-catalog"
SECURITY = ".well-known/security.txt"
LINKSET = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"'
GOOD_FOR = timedelta(days=180)  # RFC 9116 wants less than a year


class ApiCatalogViewSet(PublicPageViewSet):
    def retrieve(self, request: Request) -> HttpResponseBase:
        links = {"Link": f'<{address(API_CATALOG)}>; rel="api-catalog"'}
        return answer(request, printed(json.dumps(_linkset())), links, kind=LINKSET)


class SecurityTxtViewSet(PublicPageViewSet):
    def retrieve(self, request: Request) -> HttpResponseBase:
        today = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)  # one text a day
        lines = (
            f"Contact: mailto:{operator_settings.SUPPORT_EMAIL}",
            f"Expires: {(today + GOOD_FOR).isoformat().replace('+00:00', 'Z')}",
            "Preferred-Languages: en, ru, es, pt, tr, id",
            f"Canonical: {address(SECURITY)}",
            f"Policy: {address('guide/explanation/security/')}",
        )
        return answer(request, printed("\n".join(lines) + "\n"), {}, kind="text/plain; charset=utf-8")


def _linkset() -> dict[str, object]:
    html, text = "text/html", "text/plain"
    return {
        "linkset": [
            {
                "anchor": address("").rstrip("/") + "/",
                "service-desc": [{"href": address("openapi.json"), "type": "application/json"}],
                "service-doc": [
                    {"href": address("docs"), "type": html},
                    {"href": address("guide/"), "type": html},
                    {"href": address("llms.txt"), "type": text},
                    {"href": address("llms-full.txt"), "type": text},
                    {"href": address("guide/reference/mcp/"), "type": html, "title": "MCP server: POST /mcp"},
                ],
                "service-meta": [
                    {"href": address(".well-known/ai-catalog.json"), "type": "application/ai-catalog+json"},
                ],
                "status": [{"href": address("status"), "type": "application/json"}],
            }
        ]
    }
