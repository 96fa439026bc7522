"""Tool services on loopback (Tavily, OpenAI): a search, the text of a page, a picture, speech, a transcript.

`Tavily().url` and `OpenAI().url` are their base addresses. `asked` has the requests, `keys` the keys in them.
"""

from __future__ import annotations

import base64
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

KEY = "tk-key-of-the-owner-for-this-service"
SOUND = b"OggS sound of a voice"
PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


class ToolServicesDouble:
    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []  # path, and the body as text
        self.keys: set[str | None] = set()
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.double = self
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    @property
    def urls(self) -> dict[str, str]:
        base = f"http://127.0.0.1:{self._http.server_address[1]}"
        return {"tavily": f"{base}/tavily", "openai": f"{base}/openai/v1"}

    def said_to(self, path: str) -> list[str]:
        """The bodies of all calls to this path."""
        return [body for asked, body in self.asked if asked == path]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def answer(self, path: str, body: str) -> tuple[str, bytes]:
        """Content type and body of the answer."""
        if path.startswith("/tavily/"):
            asked = json.loads(body)
            found = {"title": "Oak", "url": "https://oak.example/", "content": "under the oak"}
            pages = [{"url": url, "raw_content": f"All of {url}: the treasure"} for url in asked.get("urls", [])]
            said: dict[str, Any] = {"results": pages if path.endswith("/extract") else [found], "failed_results": []}
            return "application/json", json.dumps(said).encode()
        if path == "/openai/v1/images/generations":
            picture = {"created": 1, "data": [{"b64_json": base64.b64encode(PICTURE).decode()}]}
            return "application/json", json.dumps(picture).encode()
        if path == "/openai/v1/audio/speech":
            return "audio/mpeg", SOUND
        return "text/plain", b"where is the treasure?\n"  # the answer of whisper-1


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    double: ToolServicesDouble


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def log_message(self, *_: object) -> None:
        """Log nothing: the requests are in the double."""

    def do_POST(self) -> None:
        double = self.server.double
        body = self._body().decode("utf-8", "replace")
        shown = self.headers.get("Authorization", "").removeprefix("Bearer ")
        double.keys.add(shown)
        double.asked.append((self.path, body))
        if shown == KEY:
            self._send(200, *double.answer(self.path, body))
        else:
            self._send(401, "application/json", b'{"error": {"message": "Incorrect API key provided"}}')

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        pieces = bytearray()
        while size := int(self.rfile.readline(), 16):
            pieces += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return bytes(pieces)

    def _send(self, status: int, content_type: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
