"""Another agent on loopback, good or bad: set `card` and `answer`. It keeps every call."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Raw:
    """An answer byte by byte; it need not be valid."""

    pieces: Iterator[bytes]
    status: int = 200  # 0: the pieces are the whole answer, including its first line
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class PeerCall:
    method: str
    params: Json
    token: str | None
    version: str | None


def completed(text: str = "as you say") -> Json:
    artifacts = [{"artifactId": "a", "parts": [{"text": text}]}]
    task = {"id": "task-1", "contextId": "talk-1", "status": {"state": "TASK_STATE_COMPLETED"}, "artifacts": artifacts}
    return {"task": task}


class PeerDouble:
    def __init__(self) -> None:
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.double = self
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        self.reset()

    def reset(self) -> None:
        offered = {"url": f"{self.url}/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        self.card: Json | Raw = {"name": "Bob", "description": "Knows boats.", "supportedInterfaces": [offered]}
        self.answer: Callable[[PeerCall], Json | Raw] = lambda _: {"result": completed()}
        self.calls: list[PeerCall] = []
        self.card_tokens: list[str | None] = []  # the tokens in requests for the card
        self.at_once = self.most_at_once = 0

    def __enter__(self) -> Self:
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    double: PeerDouble


class _Handler(BaseHTTPRequestHandler):
    server: _Http

    def log_message(self, *_: object) -> None:
        """Log nothing: the double has what happened."""

    def do_GET(self) -> None:
        double = self.server.double
        double.card_tokens.append(self.headers.get("Authorization"))
        self._say(double.card)

    def do_POST(self) -> None:
        double = self.server.double
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        shown, version = self.headers.get("Authorization"), self.headers.get("A2A-Version")
        call = PeerCall(body["method"], body["params"], shown, version)
        double.calls.append(call)
        double.at_once += 1
        double.most_at_once = max(double.most_at_once, double.at_once)
        try:
            said = double.answer(call)
            self._say(said if isinstance(said, Raw) else {"jsonrpc": "2.0", "id": body["id"], **said})
        finally:
            double.at_once -= 1

    def _say(self, said: Json | Raw) -> None:
        raw = said if isinstance(said, Raw) else Raw(iter([json.dumps(said).encode()]))
        if raw.status:
            self._begin(raw)
        try:
            for piece in raw.pieces:
                self.wfile.write(piece)
                self.wfile.flush()
        except OSError:
            return

    def _begin(self, raw: Raw) -> None:
        self.send_response(raw.status)
        for name, value in raw.headers:
            self.send_header(name, value)
        self.end_headers()


def endless() -> Iterator[bytes]:
    while True:
        yield b"x" * 65_536


def dripping() -> Iterator[bytes]:
    while True:
        time.sleep(0.2)
        yield b" "


def informational() -> Iterator[bytes]:
    """Endless informational answers; the real answer never comes."""
    while True:
        yield b"HTTP/1.1 103 Early Hints\r\n\r\n" * 1_000
