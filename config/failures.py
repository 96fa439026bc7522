"""Errors that no view answers: JSON for programs, a page for people."""

from __future__ import annotations

import logging

from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string

from config import content_policy, help_links
from config.errors import ErrorCode
from config.requests import request_id
from pages.public.base import failed, preferred

log = logging.getLogger(__name__)

ADMIN = "/admin/"
PAGES = (ADMIN, "/sign-in", "/sign-out", "/account", "/create", "/renew/")  # addresses that only people open
TITLES = {
    400: "Malformed request",
    403: "Not allowed",
    404: "No such page",
    413: "Too much at once",
    500: "Something went wrong",
}


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    is_host = isinstance(exception, DisallowedHost)
    message = "Host: this service does not answer under this name" if is_host else "the request is malformed"
    return _failure(request, 400, ErrorCode.BAD_REQUEST, message)


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _failure(request, 403, ErrorCode.FORBIDDEN, "not allowed")


def forged(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form without the CSRF token of its page (CSRF_FAILURE_VIEW)."""
    return _failure(request, 403, ErrorCode.FORBIDDEN, "the form is not from a page of ours, or too old", stale=True)


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    message = f"no such endpoint: {request.method} {request.path}; see /openapi.json"
    return _failure(request, 404, ErrorCode.NOT_FOUND, message)


def too_large(request: HttpRequest, *, at_most: int) -> HttpResponse:
    return _failure(request, 413, ErrorCode.BAD_REQUEST, f"body: larger than {at_most} bytes")


def server_error(request: HttpRequest) -> HttpResponse:
    message = f"something went wrong on our side; quote {request_id.get()}"
    return _failure(request, 500, ErrorCode.INTERNAL, message)


def _failure(request: HttpRequest, status: int, code: ErrorCode, message: str, *, stale: bool = False) -> HttpResponse:
    if request.path.startswith(ADMIN):
        return _plain(request, status, stale=stale)
    if not request.path.startswith(PAGES) and not _is_browsing(request):
        where = help_links.OPERATIONS if status == 404 else help_links.ERRORS
        body = {"error": code.value, "message": message}
        return JsonResponse(body, status=status, headers={"Link": help_links.link(where)})
    try:
        return failed(status, None, preferred(request), stale=stale)
    except Exception:  # the same fault may break this page too
        log.exception("the page of a failure failed")
        return _plain(request, status, stale=stale)


def _is_browsing(request: HttpRequest) -> bool:
    """Whether a person opens the address in a browser. Programs that accept only text/html get JSON."""
    if request.method not in {"GET", "HEAD"}:
        return False
    opens = request.headers.get("Sec-Fetch-Dest") == "document"
    return opens or "application/xhtml+xml" in request.headers.get("Accept", "")


def _plain(request: HttpRequest, status: int, *, stale: bool) -> HttpResponse:
    """A page in English whose few styles are inside it: for the admin, and where no other page can be shown."""
    text = f"Quote {request_id.get()} when you ask about it."
    if status == 413:
        text = "What you sent is too long for this page. Go back, shorten it and send it again."
    if stale:
        text = "The page you sent this from was too old, or your browser takes no cookies. Open it again."
    is_admin = request.path.startswith(ADMIN)
    page = render_to_string("errors/page.html", {"title": TITLES[status], "message": text, "is_admin": is_admin})
    return HttpResponse(page, status=status, headers={content_policy.HEADER: content_policy.OF_A_FAILURE})
