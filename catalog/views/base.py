"""What the endpoints of the catalog share: no credential, and answers that are ready as bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpResponse
from rest_framework.permissions import AllowAny
from rest_framework.request import Request

from catalog.views import conditions
from catalog.views.publication import Published, Representation, published
from config.api import ApiViewSet
from config.errors import BadRequest

# Caches may keep an answer but must ask each time if it is still valid: a 304 is cheap, and a change shows in a second.
CACHING = "public, no-cache"


class CatalogViewSet(ApiViewSet):
    authentication_classes = ()
    permission_classes = (AllowAny,)

    def answer(self, request: Request, name: str, content: Callable[[], Mapping[str, Any]]) -> HttpResponse:
        """The answer `name` in the encoding that the caller prefers, or 304 if the caller has it already."""
        return self.preferred(request, published(name, content))

    def preferred(self, request: Request, both: Published) -> HttpResponse:
        """This answer in the encoding that the caller prefers, or 304 if the caller has it already."""
        asked = request.META.get("HTTP_ACCEPT_ENCODING", "")
        first, second = both.plain, both.compressed
        if conditions.prefers_gzip(asked):
            first, second = second, first
        if known := request.META.get("HTTP_IF_NONE_MATCH"):
            tag = conditions.matching(known, (first.etag, second.etag))
            if tag is not None:
                return HttpResponse(status=304, headers=_headers(tag))
        return _ok(first)

    def filter_of(self, request: Request, name: str) -> str | None:
        """A filter of the query; None if it is not given. Raises BadRequest if it is given twice."""
        values = request.query_params.getlist(name)
        if len(values) > 1:
            raise BadRequest(f"{name}: is given {len(values)} times, once is allowed")
        return values[0] if values else None


def narrowed(body: bytes) -> HttpResponse:
    """An answer that has the chosen fields only. Its ETag is made later (config/shown_fields.py)."""
    response = HttpResponse(body, content_type="application/json", headers={**_headers(""), "Content-Length": ""})
    response.has_chosen_fields = True  # type: ignore[attr-defined]
    return response


def _ok(representation: Representation) -> HttpResponse:
    headers = {**_headers(representation.etag), "Content-Length": str(representation.size)}
    if representation.encoding:
        headers["Content-Encoding"] = representation.encoding
    first, *others = representation.chunks
    response = HttpResponse(first, content_type="application/json", headers=headers)
    for chunk in others:  # each chunk is one write of the server
        response.write(chunk)
    return response


def _headers(etag: str) -> dict[str, str]:
    return {"ETag": etag, "Cache-Control": CACHING, "Vary": "Accept-Encoding"}
