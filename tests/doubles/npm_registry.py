"""A package registry on loopback that has every package, but corrupts each of them."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import unquote


class BrokenRegistry:
    """Its packages differ from those in the lock file."""

    def __init__(self, lock: dict[str, Any]) -> None:
        self.versions: dict[str, set[str]] = {}
        for path, package in lock["packages"].items():
            if path:
                self.versions.setdefault(path.rpartition("node_modules/")[2], set()).add(package["version"])
        self.asked: list[str] = []
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.double = self

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/"

    def __enter__(self) -> Self:
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    double: BrokenRegistry


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def log_message(self, *_: object) -> None:
        """Log nothing."""

    def do_GET(self) -> None:
        double = self.server.double
        name = unquote(self.path.lstrip("/").partition("?")[0])
        double.asked.append(name)
        if name.endswith(".tgz"):
            return self._send("application/octet-stream", b"this is not the package")
        versions = {
            version: {"name": name, "version": version, "dist": {"tarball": f"{double.url}{name}/-/{version}.tgz"}}
            for version in double.versions.get(name, ())
        }
        body = {"name": name, "dist-tags": {}, "versions": versions}
        return self._send("application/json", json.dumps(body).encode())

    def _send(self, kind: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
