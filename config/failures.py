"""Failures that no view of the API answers: in the error body too, and as a page where a person is looking."""

from __future__ import annotations

from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string

from config import content_policy
from config.errors import ErrorCode
from config.requests import request_id

ADMIN = "/admin/"
PAGES = (ADMIN, "/sign-in", "/sign-out", "/account", "/renew/")  # what people look at; everything else is the API
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


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    message = f"no such endpoint: {request.method} {request.path}; see /openapi.json"
    return _failure(request, 404, ErrorCode.NOT_FOUND, message)


def too_large(request: HttpRequest, *, at_most: int) -> HttpResponse:
    return _failure(request, 413, ErrorCode.BAD_REQUEST, f"body: larger than {at_most} bytes")


def server_error(request: HttpRequest) -> HttpResponse:
    message = f"something went wrong on our side; quote {request_id.get()}"
    return _failure(request, 500, ErrorCode.INTERNAL, message)


def _failure(request: HttpRequest, status: int, code: ErrorCode, message: str) -> HttpResponse:
    if not request.path.startswith(PAGES):
        return JsonResponse({"error": code.value, "message": message}, status=status)
    text = f"Quote {request_id.get()} when you ask about it."
    if status == 413:
        text = "What you sent is too long for this page. Go back, shorten it and send it again."
    is_admin = request.path.startswith(ADMIN)
    page = render_to_string("errors/page.html", {"title": TITLES[status], "message": text, "is_admin": is_admin})
    return HttpResponse(page, status=status, headers={content_policy.HEADER: content_policy.OF_A_FAILURE})
