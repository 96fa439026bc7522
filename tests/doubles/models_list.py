"""A host on loopback that serves a list of models in the format of models.dev, correctly or not."""

from __future__ import annotations

import gzip
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


class ModelsList:
    """Answers every path with `body` (compressed if `compressed`), or with `status` and `headers`."""

    def __init__(self, document: Any = None) -> None:
        self.body = json.dumps(document).encode()
        self.status = 200
        self.headers: dict[str, str] = {}
        self.compressed = False
        self.promised = 0  # how many more bytes the header announces than the server sends
        self.asked: list[tuple[str, dict[str, str]]] = []
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.double = self

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/api.json"

    def __enter__(self) -> Self:
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    double: ModelsList


class _Handler(BaseHTTPRequestHandler):
    server: _Http

    def log_message(self, *_: object) -> None:
        """Log nothing."""

    def do_GET(self) -> None:
        double = self.server.double
        double.asked.append((self.path, dict(self.headers)))
        body = gzip.compress(double.body) if double.compressed else double.body
        self.send_response(double.status)
        for name, value in double.headers.items():
            self.send_header(name, value)
        if double.compressed:
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body) + double.promised))
        self.end_headers()
        self.wfile.write(body)
