"""A host on the internet that the engine asks through the egress broker: HTTP, or HTTPS with a certificate of a test's
own authority. It answers with what it was asked, and keeps that.
"""

from __future__ import annotations

import gzip
import json
import ssl
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

PIECE = b"0123456789abcdef" * 4096
BIG_PIECES = 200


@dataclass
class FarRequest:
    method: str
    path: str
    headers: list[tuple[str, str]]
    body: bytes
    size: int = 0

    def values(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key.lower() == name.lower()]


@dataclass
class FarHost:
    """`/echo` repeats headers and body, `/redirect` leads elsewhere, `/big` is large, `/drip` comes in small pieces,
    `/packed` is packed though nobody asked for it, `/bomb` unpacks to 100 MB, `/slow` takes its time,
    `/hidden` repeats the secret in a header's name and in a folded header.
    """

    context: ssl.SSLContext | None = None
    requests: list[FarRequest] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        self._server.far = self  # type: ignore[attr-defined]  # the handler looks there
        if self.context:
            self._server.socket = self.context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        threading.Thread(target=self._server.serve_forever, args=[0.05], daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 20

    def log_message(self, *_: Any) -> None:
        """Nothing on stderr."""

    def _any(self) -> None:
        body = self._body()
        far: FarHost = self.server.far  # type: ignore[attr-defined]
        far.requests.append(FarRequest(self.command, self.path, list(self.headers.items()), body[:100_000], len(body)))
        answer = getattr(self, f"_{self.path.partition('?')[0].strip('/')}", self._echo)
        answer(body)

    def __getattr__(self, name: str) -> Any:
        """Every method is answered: the library looks for `do_GET` and its like."""
        if name.startswith("do_"):
            return self._any
        raise AttributeError(name)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") == "chunked":
            pieces = []
            while size := int(self.rfile.readline(), 16):
                pieces.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(pieces)
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _send(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _echo(self, body: bytes) -> None:
        told = {"method": self.command, "path": self.path, "headers": list(self.headers.items())}
        told["body"] = body[:1000].decode("latin-1")
        shown = self.headers.get("Authorization") or ""
        self._send(200, json.dumps(told).encode(), X_Repeated=shown.encode("ascii", "replace").decode(), Alt_Svc="h3")

    def _redirect(self, _: bytes) -> None:
        self._send(302, b"", Location=self.path.partition("?to=")[2])

    def _packed(self, _: bytes) -> None:
        told = json.dumps({"headers": list(self.headers.items())}).encode()
        self._send(200, gzip.compress(told), Content_Encoding="gzip")

    def _bomb(self, _: bytes) -> None:
        self._send(200, gzip.compress(b"\0" * 100 * 2**20, 9), Content_Encoding="gzip")

    def _odd(self, _: bytes) -> None:
        self._send(200, b"\x00\x01", Content_Encoding="br")

    def _big(self, _: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(PIECE) * BIG_PIECES))
        self.end_headers()
        for _number in range(BIG_PIECES):
            self.wfile.write(PIECE)

    def _drip(self, _: bytes) -> None:
        """The secret comes back letter by letter."""
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        for letter in self.headers.get("Authorization") or "":
            self.wfile.write(letter.encode())
            self.wfile.flush()
            time.sleep(0.005)
        self.close_connection = True

    def _hidden(self, _: bytes) -> None:
        secret = (self.headers.get("Authorization") or "").rpartition(" ")[2]
        self.send_response(200)
        self.send_header(f"X-{secret}", "1")
        self.send_header("X-Folded", f"{secret[:9]}\r\n {secret[9:]}")
        self.send_header("X-Kept", "a\r\n b")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _slow(self, _: bytes) -> None:
        time.sleep(1.5)
        self._send(200, b"{}")
