"""`/mcp`: one message of the Model Context Protocol per POST. There are no sessions, streams or batches."""

from __future__ import annotations

import threading
from http import HTTPStatus
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase
from rest_framework.request import Request

from config.api import ApiViewSet
from config.errors import Forbidden
from config.parsing import MAX_BODY_BYTES, BadText, Signed, signed_body, strict_json

# Codes of JSON-RPC 2.0.
PARSE_ERROR, INVALID_REQUEST = -32700, -32600
_importing = threading.Lock()


class McpViewSet(ApiViewSet):
    """Not part of the API's description: the protocol describes itself (docs/reference/mcp.md)."""

    schema = None
    parser_classes = (Signed,)  # the raw body: the protocol's own library parses it
    max_body_bytes = MAX_BODY_BYTES

    def create(self, request: Request) -> HttpResponseBase:
        """Answer one message. The credential was checked before; each tool's call checks it again for itself."""
        _refuse_foreign_pages(request.headers.get("Origin", ""))
        body = signed_body(request.data)
        return _malformed(body) or _answer(request._request, body)  # noqa: SLF001 # Django's own request


def warm() -> None:
    """Do what the first call of a process would wait for: import the library, and make the tools from the document."""
    with _importing:  # two threads at once would see half-imported modules of the other
        from mcp_server import exchange, loop  # noqa: F401, PLC0415 # 25 MB and more than a second
    loop.begin()


def _answer(request: HttpRequest, body: bytes) -> HttpResponseBase:
    with _importing:
        from mcp_server.exchange import Exchange  # noqa: PLC0415
    return Exchange(request, body).answer()


def _refuse_foreign_pages(origin: str) -> None:
    """Another site's page in the browser of somebody whose network we trust must not get in (DNS rebinding).

    Django has compared the Host header before.
    """
    ours = urlsplit(settings.BASE_URL)
    if origin and origin.rstrip("/").lower() != f"{ours.scheme}://{ours.netloc}".lower():
        raise Forbidden("Origin: pages of other sites may not call this server; programs send no Origin")


def _malformed(body: bytes) -> HttpResponseBase | None:
    """The refusal of a body that the protocol's library should not see: deep, unreadable, or a batch."""
    try:
        message = strict_json(body.decode("utf-8"))
    except UnicodeDecodeError as error:
        return _refusal(PARSE_ERROR, f"Parse error: {error.reason}")
    except BadText as error:
        return _refusal(PARSE_ERROR, f"Parse error: {error.place or 'body'}: {error.problem}")
    if not isinstance(message, dict):
        return _refusal(INVALID_REQUEST, "Invalid request: send one JSON-RPC message per POST; batches are not taken")
    return None


def _refusal(code: int, message: str) -> HttpResponseBase:
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}
    return JsonResponse(error, status=HTTPStatus.BAD_REQUEST)
