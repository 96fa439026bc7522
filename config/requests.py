"""An id for each request, in the `Request-Id` header of the answer, and the log lines of production."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextvars import ContextVar
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.deprecation import MiddlewareMixin
from pythonjsonlogger.json import JsonFormatter as BaseJsonFormatter

from config import log_context
from config.ids import new_id

PROBES = ("/health", "/health/ready")

request_id: ContextVar[str] = ContextVar("request_id", default="")


class RequestIdMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        token = request_id.set(new_id("req"))
        trace = log_context.trace_of(request.headers.get("traceparent", ""))
        log_context.begin(requestId=request_id.get(), traceId=trace)
        try:
            response = self.get_response(request)
            response["Request-Id"] = request_id.get()
            return response
        finally:
            request_id.reset(token)


class ProbeHostMiddleware(MiddlewareMixin):
    """Answers health requests for any Host header: the probes of a cluster call the pod by its IP address.

    We build no URL from the Host header, so nothing depends on the name that a probe uses.
    """

    def process_request(self, request: HttpRequest) -> None:
        if request.path in PROBES:
            ours = urlsplit(settings.BASE_URL).hostname or ""
            request.get_host = lambda: ours  # type: ignore[method-assign]  # only for this request


class JsonFormatter(BaseJsonFormatter):
    """One JSON object per line: level, logger, time, message, and the ids of config/log_context.py."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")

    def process_log_record(self, log_data: dict[str, object]) -> dict[str, object]:
        # Django adds the request, which is written with its query, and a query may have a secret: Meta's handshake has.
        # The message names the path.
        log_data.pop("request", None)
        if current := request_id.get():
            log_data["requestId"] = current
        for name, value in log_context.ids().items():
            log_data.setdefault(name, value)
        return super().process_log_record(log_data)


log = logging.getLogger("agentpods")
