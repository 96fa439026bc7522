"""The web page of an engine on loopback. It asks for Basic authentication (or for none) and repeats each request."""

from __future__ import annotations

import base64
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

PASSWORD = "engine-password-0123456789"
PAGE = "<!doctype html><title>Engine</title><script src='/assets/index-1.js'></script>"
POLICY = "default-src 'self'; connect-src *"


class EnginePage:
    """`seen` has all requests; /event does not end before `release`. `where` is the engine's answer about its paths."""

    def __init__(self, *, asks: bool = True) -> None:
        self.asks = asks
        self.where: Any = {"directory": "/data/workspace"}
        self.seen: list[dict[str, Any]] = []
        self.released = threading.Event()
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.double = self
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def stop(self) -> None:
        self.released.set()
        self._http.shutdown()
        self._http.server_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    double: EnginePage


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def log_message(self, *_: object) -> None:
        """Log nothing: the double has what happened."""

    def _take(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.double.seen.append({"method": self.command, "path": self.path, "headers": headers, "body": body})
        login = base64.b64encode(f"opencode:{PASSWORD}".encode()).decode()
        if self.server.double.asks and headers.get("authorization") != f"Basic {login}":
            return self._answer(401, "text/plain", "who are you?", {"WWW-Authenticate": "Basic"})
        if self.path == "/path":
            return self._answer(200, "application/json", json.dumps(self.server.double.where))
        if self.path.startswith("/assets/"):
            own = {"Set-Cookie": "engine=1", "Connection": "X-Hop", "X-Hop": "1", "X-End": "2"}
            return self._answer(200, "text/javascript", "page()", own)
        if self.path == "/event":
            return self._events()
        if self.path == "/file.html":
            return self._answer(200, "text/html", "<script>steal()</script>")
        return self._answer(200, "text/html", PAGE, {"Content-Security-Policy": POLICY})

    def do_GET(self) -> None:
        self._take()

    def do_POST(self) -> None:
        self._take()

    def _events(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b"data: first\n\n")
        self.wfile.flush()
        self.server.double.released.wait(30)
        self.close_connection = True

    def _answer(self, status: int, content_type: str, text: str, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": content_type, **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())
