"""Serves the metrics of this process at METRICS_PORT: a listener of its own, which visitors do not reach."""

from __future__ import annotations

import logging
import socket
import threading
from socketserver import ThreadingTCPServer
from typing import Any

from django.conf import settings
from prometheus_client import REGISTRY
from prometheus_client.exposition import MetricsHandler

from config.metrics.pool import DatabasePool

log = logging.getLogger(__name__)

AT_ONCE = 8  # connections; further ones are closed
SECONDS = 15.0  # for a whole connection, however slow its client is


def serve() -> None:
    """Start the listener, unless METRICS_PORT is 0. A port that cannot be used is an error in the log: the program
    works without metrics too."""
    if not settings.METRICS_PORT:
        return
    try:
        server = _MetricsServer((settings.METRICS_ADDRESS, settings.METRICS_PORT), MetricsHandler)
    except OSError as error:
        log.error("the metrics are not served", extra={"port": settings.METRICS_PORT, "error": str(error)})
        return
    REGISTRY.register(DatabasePool())
    threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()


class _MetricsServer(ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, *given: Any) -> None:
        self._places = threading.BoundedSemaphore(AT_ONCE)
        super().__init__(*given)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._places.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        deadline = threading.Timer(SECONDS, request.shutdown, [socket.SHUT_RDWR])
        deadline.daemon = True
        deadline.start()
        try:
            super().process_request_thread(request, client_address)
        finally:
            deadline.cancel()
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        log.debug("a client of the metrics left")
