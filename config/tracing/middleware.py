"""The span of each request."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest, HttpResponse

from config import log_context, tracing
from config.metrics.requests import method_of, route_of
from config.requests import PROBES, request_id
from config.streams import when_known

if TYPE_CHECKING:
    from config.tracing.recorder import RunningSpan


class TracingMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        if not settings.OTEL_EXPORTER_OTLP_ENDPOINT:
            raise MiddlewareNotUsed
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        recorder = tracing.active()
        if recorder is None or request.path in PROBES:
            return self.get_response(request)
        from config.tracing.recorder import enter, leave  # noqa: PLC0415  # only where traces are wanted

        method = method_of(request)
        known = {"http.request.method": method, "agentpods.request_id": request_id.get()}
        span = recorder.serve(method, traceparent=request.headers.get("traceparent", ""), attributes=known)
        log_context.note(traceId=span.trace_id)
        token = enter(span)
        try:
            response = self.get_response(request)
        except BaseException:
            span.end()
            raise
        finally:
            leave(token)
        when_known(response, partial(_end, span, method, route_of(request), response))
        return response


def _end(span: RunningSpan, method: str, route: str, response: HttpResponse) -> None:
    span.rename(f"{method} {route}")
    span.note(http__route=route, http__response__status_code=response.status_code)
    if response.status_code >= 500:
        span.fail(str(response.status_code))
    span.end()
