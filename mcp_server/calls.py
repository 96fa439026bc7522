"""Calls of the HTTP API inside this process: the same views, with the credential of the caller.

So rights, limits, validation and refusals are the API's own.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import resolve

# What a call takes over from the request that asked for it.
KEPT_HEADERS = ("HTTP_AUTHORIZATION", "HTTP_HOST", "HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_PROTO", "HTTP_TRACEPARENT")


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewCall:
    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


def answer(call: ViewCall, asked_by: HttpRequest) -> HttpResponseBase:
    """The answer of the view at the call's path."""
    request = WSGIRequest(_environ(call, asked_by))
    found = request.resolver_match = resolve(call.path)
    response: HttpResponseBase = found.func(request, *found.args, **found.kwargs)
    if hasattr(response, "render"):
        response.render()
    return response


def _environ(call: ViewCall, asked_by: HttpRequest) -> dict[str, Any]:
    body = b"" if call.body is None else json.dumps(call.body).encode()
    kept = {
        name: value for name, value in asked_by.META.items() if not name.startswith("HTTP_") or name in KEPT_HEADERS
    }
    given = {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in call.headers.items()}
    return {
        **kept,
        **given,
        "HTTP_ACCEPT": "application/json",
        "REQUEST_METHOD": call.method,
        "PATH_INFO": call.path,
        "QUERY_STRING": urlencode(call.query),
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.input": io.BytesIO(body),
    }
