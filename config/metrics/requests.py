"""How many requests of each route were answered, with which status, and how long that took."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from django.http import HttpRequest, HttpResponse
from prometheus_client import Counter, Histogram

from config.streams import when_known

METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
OTHER = "other"
BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)

REQUESTS = Counter("agentpods_http_requests", "Requests that Django answered.", ["method", "route", "status"])
DURATION = Histogram(
    "agentpods_http_request_duration_seconds",
    "Until Django had the answer; the body of a stream comes later.",
    ["method", "route"],
    buckets=BUCKETS,
)
REFUSED = Counter("agentpods_web_refused_requests", "Requests that web refused before Django saw them.", ["status"])


class MetricsMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        began = time.perf_counter()
        response = self.get_response(request)
        when_known(response, partial(_count, method_of(request), route_of(request), response, began))
        return response


def _count(method: str, route: str, response: HttpResponse, began: float) -> None:
    REQUESTS.labels(method, route, response.status_code).inc()
    DURATION.labels(method, route).observe(time.perf_counter() - began)


def method_of(request: HttpRequest) -> str:
    return request.method if request.method in METHODS else OTHER


def route_of(request: HttpRequest) -> str:
    """The pattern of the URL, such as `/agents/<id>`. The path itself comes from the visitor, so it is no label."""
    match = request.resolver_match
    return f"/{match.route}" if match else OTHER
