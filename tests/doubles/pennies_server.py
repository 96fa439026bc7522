"""A seller of its own kind on loopback: it opens a bill for an order, and says whether the bill is paid."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from urllib.parse import parse_qsl


class PenniesServer:
    def __init__(self) -> None:
        self.bills: dict[str, int] = {}  # order to cents
        self.paid: set[str] = set()
        self.silent = False
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> PenniesServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, path: str, fields: dict[str, str]) -> tuple[int, dict[str, object]]:
        if self.silent:
            return 503, {}
        if path == "/bills":
            self.bills[fields["order"]] = int(fields["cents"])
        return 200, {"paid": fields["order"] in self.paid}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        seller = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                status, answer = seller.answer(self.path, dict(parse_qsl(body)))
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(json.dumps(answer).encode())

            def log_message(self, format: str, *args: object) -> None:
                pass

        return Handler
