"""The query parameters that a call takes, as `/openapi.json` has them. Others are ignored; the answer names them."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

MOST = 20  # names that one answer tells

_known: dict[tuple[type[Any], str, str], frozenset[str]] = {}


def unknown(view: Any, request: Request) -> list[str]:
    """The parameters of this request that the view's action does not take."""
    given = request.query_params
    if not given or view.schema is None or not getattr(view, "action", None):
        return []
    known = _names(view, "GET" if request.method == "HEAD" else str(request.method))
    return [name for name in given if name not in known][:MOST]


def _names(view: Any, method: str) -> frozenset[str]:
    key = type(view), view.action, method
    if key not in _known:
        _known[key] = frozenset(_declared(view, method))
    return _known[key]


def _declared(view: Any, method: str) -> list[str]:
    action = getattr(view, view.action)
    schema = getattr(action, "kwargs", {}).get("schema", type(view.schema))()
    schema.view, schema.method, schema.path = view, method, ""
    found: list[str] = []
    for declared in schema.get_override_parameters():
        if isinstance(declared, OpenApiParameter):
            found += [declared.name] if declared.location == OpenApiParameter.QUERY else []
        else:
            found += (declared() if isinstance(declared, type) else declared).fields
    return found
