"""The common part of the servers that sell licences: forms in, JSON out, and switches for every kind of failure."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qsl

Fields = dict[str, str]
Answer = tuple[int, Any]


class LicenceServer:
    """`fail_with` is the answer to the next `fails` requests: a status, `"hang"`, `"cut"`, or bytes as a body."""

    def __init__(self, port: int = 0) -> None:
        self.lock = threading.RLock()
        self.asked: list[tuple[str, Fields]] = []
        self.fail_with: int | str | bytes | None = None
        self.fails = 10**9
        self.failure_body: Any = {}
        self.retry_after: int | None = None
        self.before: Callable[[str], None] = lambda path: None
        self.released = threading.Event()
        self._http = _Http(("127.0.0.1", port), _Handler)
        self._http.double = self
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self._http.shutdown()
        self._http.server_close()

    def fail(self, how: int | str | bytes, *, times: int = 10**9, body: Any = None) -> None:
        self.fail_with, self.fails, self.failure_body = how, times, {} if body is None else body

    def work_again(self) -> None:
        self.fail_with = None

    def answer(self, path: str, fields: Fields) -> Answer:
        raise NotImplementedError

    def answer_seller(self, method: str, path: str, query: Fields, authorization: str) -> Answer:
        """Answer a request to the API for the seller; 404 where there is no such API."""
        return 404, {"errors": [{"status": "404", "title": "Not Found"}]}

    def failure(self) -> int | str | bytes | None:
        with self.lock:
            if self.fail_with is None or self.fails <= 0:
                return None
            self.fails -= 1
            return self.fail_with


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    double: LicenceServer


class _Handler(BaseHTTPRequestHandler):
    server: _Http

    def log_message(self, *_: object) -> None:
        """Log nothing: the requests are in `asked`."""

    def do_GET(self) -> None:
        self._seller()

    def do_DELETE(self) -> None:
        self._seller()

    def _seller(self) -> None:
        path, _, raw = self.path.partition("?")
        query, authorization = dict(parse_qsl(raw)), self.headers.get("Authorization", "")
        double = self.server.double
        self._answer(
            f"{self.command} {path}", query, lambda: double.answer_seller(self.command, path, query, authorization)
        )

    def do_POST(self) -> None:
        double = self.server.double
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        fields = dict(parse_qsl(body, keep_blank_values=True))
        self._answer(self.path, fields, lambda: double.answer(self.path, fields))

    def _answer(self, asked: str, fields: Fields, answer: Callable[[], Answer]) -> None:
        double = self.server.double
        with double.lock:
            double.asked.append((asked, fields))
        double.before(asked)
        match double.failure():
            case None:
                with double.lock:
                    status, document = answer()
                self._say(status, json.dumps(document).encode())
            case int() as status:
                self._say(status, json.dumps(double.failure_body).encode())
            case bytes() as raw:
                self._say(200, raw)
            case "hang":
                double.released.wait(30)
                self.close_connection = True
            case _:
                self.close_connection = True

    def _say(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        if self.server.double.retry_after is not None and status == 429:
            self.send_header("Retry-After", str(self.server.double.retry_after))
        self.end_headers()
        self.wfile.write(body)
