"""Where the documentation tells of a call: the header `Link: <…>; rel="help"` of its refusals."""

from __future__ import annotations

import re
from typing import Any

from django.conf import settings

from config import operation_names

ERRORS, OPERATIONS = "errors", "operations"  # places in /docs

_CONVERTED = re.compile(r"<(?:\w+:)?(\w+)>")


def link(place: str) -> str:
    return f'<{settings.BASE_URL}/docs#{place}>; rel="help"'


def of_call(view: Any, request: Any) -> str:
    """The link to the call that this view answers, and to all errors where it has no such call."""
    match, method = getattr(request, "resolver_match", None), str(request.method)
    if match is None or method.lower() not in getattr(view, "action_map", {}):
        return link(ERRORS)
    path = _CONVERTED.sub(r"{\1}", f"/{match.route}")
    return link(operation_names.name_of("GET" if method == "HEAD" else method, path, many=view.action == "list"))
