"""A model provider that misbehaves as a test says. It keeps requests exactly as they arrive."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    target: str  # path and query as sent
    headers: Message
    body: bytes


class ModelVendor:
    """`answer` writes the answer; `requests` has the requests."""

    def __init__(self) -> None:
        self.reset()
        self._http = _Http(("127.0.0.1", 0), ProviderHandler)
        self._http.double = self
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def reset(self) -> None:
        self.answer: Callable[[ProviderHandler], None] = lambda handler: handler.whole(200, b'{"ok": true}')
        self.requests: list[Request] = []
        self.hung_up = threading.Event()  # a reader went away in the middle of an answer
        self.broken_off = threading.Event()  # a request ended before its body was complete; it is not in `requests`

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    double: ModelVendor


class ProviderHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def log_message(self, *_: object) -> None:
        """Log nothing: the requests are in `requests`."""

    def do_POST(self) -> None:
        double = self.server.double
        try:
            body = self._body()
        except EOFError:
            double.broken_off.set()
            self.close_connection = True
            return
        double.requests.append(Request(self.command, self.path, self.headers, body))
        try:
            double.answer(self)
        except OSError:
            double.hung_up.set()
            self.close_connection = True

    do_GET = do_DELETE = do_PUT = do_POST  # noqa: N815 - names of the base class

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            return b"".join(iter(self._chunk, b""))
        return self._exactly(int(self.headers.get("Content-Length") or 0))

    def _chunk(self) -> bytes:
        size = self.rfile.readline()
        if not size:
            raise EOFError
        data = self._exactly(int(size, 16))
        self.rfile.readline()
        return data

    def _exactly(self, size: int) -> bytes:
        data = self.rfile.read(size)
        if len(data) < size:
            raise EOFError
        return data

    def whole(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def begin(self, content_type: str = "text/event-stream") -> None:
        """Send the headers of an answer that `say` streams."""
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def say(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def end(self) -> None:
        self.wfile.write(b"0\r\n\r\n")

    def cut(self) -> None:
        self.wfile.flush()
        self.close_connection = True
        self.connection.close()
