"""`/openapi.json`, generated once per process. `pages.public.docs` shows it as pages."""

from __future__ import annotations

import functools
import gzip
import hashlib
import json
import threading
from dataclasses import dataclass

from django.http import HttpResponse, HttpResponseBase
from django.utils.cache import get_conditional_response
from drf_spectacular.generators import SchemaGenerator
from rest_framework.request import Request

from config.api import ApiViewSet

CACHE_CONTROL = "public, max-age=300"


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    body: bytes
    gzipped: bytes
    etag: str


_making = threading.Lock()


def document() -> Document:
    """The OpenAPI document as bytes. One thread makes it, once."""
    with _making:
        return _document()


@functools.cache
def _document() -> Document:
    schema = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    body = json.dumps(schema, ensure_ascii=False, separators=(",", ":"), default=str).encode()
    etag = f'W/"{hashlib.sha256(body).hexdigest()[:32]}"'
    return Document(body=body, gzipped=gzip.compress(body, mtime=0), etag=etag)


class OpenApiViewSet(ApiViewSet):
    """Serves the description of the API. This endpoint is not part of that description."""

    authentication_classes = ()
    permission_classes = ()
    schema = None

    def retrieve(self, request: Request) -> HttpResponseBase:
        found = document()
        zipped = "gzip" in request.headers.get("Accept-Encoding", "")
        response = HttpResponse(found.gzipped if zipped else found.body, content_type="application/json")
        if zipped:
            response["Content-Encoding"] = "gzip"
        response["ETag"] = found.etag
        response["Cache-Control"] = CACHE_CONTROL
        response["Vary"] = "Accept-Encoding"
        return get_conditional_response(request._request, etag=found.etag, response=response) or response  # noqa: SLF001
