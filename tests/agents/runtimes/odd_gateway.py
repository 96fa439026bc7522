"""Gateways that give wrong answers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from agents.pod.gateway.tls import server_context
from agents.runtimes.base import Endpoint, Identity
from tests.agents.runtimes.conftest import IDENTITY

Answer = Callable[[BaseHTTPRequestHandler], None]
LINE = b"HTTP/1.1 200 OK\r\n"


@contextmanager
def gateway(answer: Answer, identity: Identity = IDENTITY) -> Iterator[tuple[Endpoint, list[BaseHTTPRequestHandler]]]:
    """A gateway that gives this answer, and the requests that it got."""
    asked: list[BaseHTTPRequestHandler] = []

    class ManagementHandler(BaseHTTPRequestHandler):
        def handle_any(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            asked.append(self)
            answer(self)

        do_GET = do_PUT = do_POST = handle_any  # noqa: N815 - the library's names

        def log_message(self, *_: object) -> None:
            """Write no log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), ManagementHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    server.socket = server_context(identity).wrap_socket(server.socket, server_side=True)
    url = f"https://127.0.0.1:{server.server_address[1]}"
    try:
        yield Endpoint(public_url=url, management_url=url), asked
    finally:
        server.shutdown()
        server.server_close()


def raw(status: int, body: bytes, **headers: str) -> Answer:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            request.send_header(name.replace("_", "-"), value)
        request.end_headers()
        request.wfile.write(body)

    return answer


def drip(before: bytes) -> Answer:
    """Send `before`, and then single bytes for ever."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        with suppress(OSError):
            request.wfile.write(before)
            while True:
                request.wfile.write(b"x")
                time.sleep(0.05)

    return answer


def cut(stream: bytes, size: int) -> Answer:
    """Send the stream in pieces of so many bytes, each in a TLS record of its own, and then close the connection."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        request.wfile.write(LINE + b"Content-Type: application/x-ndjson\r\nConnection: close\r\n\r\n")
        for start in range(0, len(stream), size):
            request.wfile.write(stream[start : start + size])
        request.close_connection = True

    return answer
