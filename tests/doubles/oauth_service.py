"""An OAuth 2.0 service on loopback: it sends a code through the browser, and gives a token for the code.

As real services do, it gives a token only if the caller names the address to which the browser was sent back. `granted`
has the addresses that got a token.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self
from urllib.parse import parse_qs, urlencode, urlsplit

TOKEN = "token-of-the-service-4711"


class OauthService:
    def __init__(self) -> None:
        self.granted: list[str] = []
        self.codes: dict[str, str] = {}  # by code: the address to which it was sent
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.double = self
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    double: OauthService


class _Handler(BaseHTTPRequestHandler):
    server: _Http

    def log_message(self, *_: object) -> None:
        """Log nothing: the double has what happened."""

    def do_GET(self) -> None:
        """The person at the browser allows the access at once."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        codes = self.server.double.codes
        code = f"code-{len(codes)}"
        codes[code] = asked["redirect_uri"]
        self.send_response(302)
        self.send_header("Location", f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        given = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        double = self.server.double
        sent_to = double.codes.get(given["code"][0])
        if given["grant_type"] != ["authorization_code"] or given.get("redirect_uri") != [sent_to]:
            self._say(400, {"error": "invalid_grant"})
            return
        double.granted.append(str(sent_to))
        self._say(200, {"access_token": TOKEN, "token_type": "Bearer", "expires_in": 3600})

    def _say(self, status: int, said: dict[str, object]) -> None:
        body = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
