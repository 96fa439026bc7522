"""Failures that no view of the API answers: in the error body too, and as a page where a person is looking."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string

from config.errors import ErrorCode
from config.requests import request_id

PAGES = ("/admin/",)  # what people look at; everything else is the API


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _failure(request, 400, ErrorCode.BAD_REQUEST, "the request is malformed")


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _failure(request, 403, ErrorCode.FORBIDDEN, "not allowed")


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    message = f"no such endpoint: {request.method} {request.path}; see /openapi.json"
    return _failure(request, 404, ErrorCode.NOT_FOUND, message)


def server_error(request: HttpRequest) -> HttpResponse:
    message = f"something went wrong on our side; quote {request_id.get()}"
    return _failure(request, 500, ErrorCode.INTERNAL, message)


def _failure(request: HttpRequest, status: int, code: ErrorCode, message: str) -> HttpResponse:
    if not request.path.startswith(PAGES):
        return JsonResponse({"error": code.value, "message": message}, status=status)
    title = {400: "Malformed request", 403: "Not allowed", 404: "No such page", 500: "Something went wrong"}[status]
    text = f"Quote {request_id.get()} when you ask about it."
    return HttpResponse(render_to_string("errors/page.html", {"title": title, "message": text}), status=status)
