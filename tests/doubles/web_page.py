"""A web page, and the requests for it."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

from tests.doubles.reached import ADDRESS


class WebPage:
    def __init__(self, text: str) -> None:
        self.html = f"<!doctype html><title>A page</title><body><script>not()</script><p>{text}</p></body>"
        self.asked: list[str] = []
        self.headers: list[dict[str, str]] = []  # of each request
        self._http = _Http((ADDRESS, 0), _Handler)
        self._http.double = self
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://{ADDRESS}:{self._http.server_address[1]}/page"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    double: WebPage


class _Handler(BaseHTTPRequestHandler):
    server: _Http

    def log_message(self, *_: object) -> None:
        """Log nothing: the double has the requests."""

    def do_GET(self) -> None:
        self.server.double.asked.append(self.path)
        self.server.double.headers.append(dict(self.headers.items()))
        body = self.server.double.html.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
