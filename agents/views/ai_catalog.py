"""`/.well-known/ai-catalog.json`: the public directory in the format of ai-catalog.org, for crawlers that look for
agents."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpResponse
from rest_framework.permissions import AllowAny
from rest_framework.request import Request

from agents.serializers.agents import FindA2aSerializer
from agents.talking import a2a_catalog
from agents.talking.a2a_catalog import ListedAgent
from config.api import ApiViewSet

PATH = ".well-known/ai-catalog.json"
CATALOG, CARD = "application/ai-catalog+json", "application/a2a-agent-card+json"


class AiCatalogViewSet(ApiViewSet):
    """A document of another standard. It is not part of the API's description."""

    authentication_classes = ()
    permission_classes = (AllowAny,)
    schema = None

    def retrieve(self, request: Request) -> HttpResponse:
        page = a2a_catalog.page(**self.query(FindA2aSerializer), path=f"/{PATH}")
        entries = [_entry(listing) for listing in page.agents]
        if page.next_url:  # the format has no pages, so the rest is another catalog, nested in this one
            more = f"urn:air:{_domain()}:catalog:more"
            entries.append({"identifier": more, "type": CATALOG, "url": page.next_url})
        about = f"{settings.BASE_URL}/docs"
        host = {"displayName": "Agentpods", "identifier": _domain(), "documentationUrl": about}
        body = {"specVersion": "1.0", "host": host, "entries": entries}
        return HttpResponse(json.dumps(body), content_type=CATALOG, headers=page.headers)


def _entry(listing: ListedAgent) -> dict[str, Any]:
    """The entry of one agent. The name is in its card; description and tags are only there when its persona is
    public."""
    entry: dict[str, Any] = {
        "identifier": f"urn:air:{_domain()}:a2a:{listing.id}",
        "type": CARD,
        "url": listing.card_url,
        "updatedAt": listing.updated_at.isoformat().replace("+00:00", "Z"),
    }
    said = {"description": listing.description, "tags": listing.tags}
    return entry | {name: value for name, value in said.items() if value}


def _domain() -> str:
    return urlsplit(settings.BASE_URL).hostname or ""
