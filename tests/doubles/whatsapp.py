"""Meta's Graph API on loopback, as far as a WhatsApp number needs it: `sent` has the bot's messages."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

Json = dict[str, Any]
ACCESS_TOKEN, PHONE = "EAAG-access-token-of-the-owners-app", "106612345678901"
_BAD_TOKEN = {"error": {"message": "Invalid OAuth access token", "type": "OAuthException", "code": 190}}
_UNSUPPORTED = {"error": {"message": "Unsupported request", "type": "GraphMethodException", "code": 100}}


class WhatsappDouble:
    def __init__(self) -> None:
        self.sent: list[tuple[str, str]] = []  # receiver and text
        self.refused: list[str] = []  # paths of requests with a wrong token
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.double = self
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def look(self, path: str, token: str) -> tuple[int, Json]:
        """`GET /<version>/<phone number id>?fields=id`: whether this token sees the number."""
        if token != f"Bearer {ACCESS_TOKEN}":
            return 401, _BAD_TOKEN
        number = path.partition("?")[0].strip("/").split("/")[-1]
        return (200, {"id": PHONE}) if number == PHONE else (400, _UNSUPPORTED)

    def take(self, path: str, token: str, message: Json) -> tuple[int, Json]:
        """`POST /<version>/<phone number id>/messages`: a text to a person, or a confirmation of reading."""
        parts = path.strip("/").split("/")
        if token != f"Bearer {ACCESS_TOKEN}":
            self.refused.append(path)
            return 401, _BAD_TOKEN
        if len(parts) != 3 or parts[1:] != [PHONE, "messages"] or message.get("messaging_product") != "whatsapp":
            return 400, _UNSUPPORTED
        if message.get("status") == "read":
            return 200, {"success": True}
        to, text = message["to"], message["text"]["body"]
        self.sent.append((to, text))
        return 200, {"messaging_product": "whatsapp", "messages": [{"id": f"wamid.sent-{len(self.sent)}"}]}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    double: WhatsappDouble


class _Handler(BaseHTTPRequestHandler):
    server: _Http

    def do_GET(self) -> None:
        self._answer(*self.server.double.look(self.path, self.headers.get("Authorization", "")))

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        self._answer(*self.server.double.take(self.path, self.headers.get("Authorization", ""), message))

    def _answer(self, status: int, body: Json) -> None:
        raw = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_: object) -> None:
        """Log nothing: tests read the messages."""
