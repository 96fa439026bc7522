"""A collector of traces: OTLP over HTTP, with the protocol's own messages."""

from __future__ import annotations

import gzip
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.patience import Patience


@dataclass(frozen=True, slots=True)
class CollectedSpan:
    name: str
    trace_id: str
    span_id: str
    parent_id: str
    program: str
    links: list[str]  # trace ids
    attributes: dict[str, Any] = field(default_factory=dict)
    failed: bool = False


class CollectorDouble:
    """`spans` is what came. `silent` makes it wait for ever, `answer` is the body of its answers."""

    def __init__(self) -> None:
        self.spans: list[CollectedSpan] = []
        self.bodies: list[bytes] = []
        self.silent = threading.Event()
        self.answer = b""
        self._http = _CollectorHttp(("127.0.0.1", 0), _CollectorHandler)
        self._http.double = self
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def wait_for(self, *names: str, seconds: float = 20) -> dict[str, CollectedSpan]:
        """The newest span of each of these names, when all have come."""
        patience = Patience(seconds)
        while not patience.ended():
            found = {one.name: one for one in self.spans}
            if set(names) <= set(found):
                return found
            time.sleep(0.05)
        raise AssertionError(f"not collected: {set(names) - {one.name for one in self.spans}}")

    def take(self, body: bytes) -> None:
        self.bodies.append(body)
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            program = {one.key: one.value.string_value for one in resource.resource.attributes}["agentpods.program"]
            self.spans += [_span(one, program) for scope in resource.scope_spans for one in scope.spans]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()


def _span(one: Any, program: str) -> CollectedSpan:
    return CollectedSpan(
        name=one.name,
        trace_id=one.trace_id.hex(),
        span_id=one.span_id.hex(),
        parent_id=one.parent_span_id.hex(),
        program=program,
        links=[link.trace_id.hex() for link in one.links],
        attributes={given.key: given.value.string_value or given.value.int_value for given in one.attributes},
        failed=one.status.code == 2,
    )


class _CollectorHttp(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    double: CollectorDouble


class _CollectorHandler(BaseHTTPRequestHandler):
    server: _CollectorHttp

    def log_message(self, *_: object) -> None:
        """Log nothing: the spans are in `spans`."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        double = self.server.double
        if double.silent.is_set():
            time.sleep(60)
            return
        double.take(gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(double.answer)
