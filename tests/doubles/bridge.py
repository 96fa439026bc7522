"""A bridge double on loopback. It speaks the pod's protocol and plays a scripted engine: set `phase` and `turn`."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

TOKEN = "bridge-token-0123456789abcdef"
Event = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ReceivedTurn:
    session_id: str
    message: str
    at: float


def line(text: str, *, source: str = "engine", level: str | None = None, at: float | None = None) -> Event:
    return {"s": source, "t": at or time.time(), "l": level, "x": text}


def echo(turn: ReceivedTurn) -> Iterable[Event]:
    """The engine's answer, unless a test scripts another one."""
    yield {"type": "delta", "text": "you said "}
    yield {"type": "delta", "text": turn.message}
    yield {"type": "done", "reply": f"you said {turn.message}"}


class BridgeDouble:
    def __init__(self) -> None:
        self._http: _Http | None = None
        self._port = 0
        self.reset()

    def _reset_messages(self) -> None:
        # Messages of channels, in the order of arrival; a repeated message is there twice.
        self.messages: list[dict[str, Any]] = []
        self.over: set[str] = set()  # names of messages whose turn is over
        self.takes_none: str | None = None  # the reason why the bridge takes no message
        self.takes_never: set[str] = set()  # names of messages that the bridge refuses because of their content

    def reset(self) -> None:
        """Start as a new bridge on the same address; works also after `stop`."""
        self.phase = "ready"
        self.message: str | None = None
        self.restarted = 0
        self.revision = 1
        self.applies = True  # whether a configuration is in force as soon as it arrives
        self.refuses: int | None = None  # the HTTP status of the answer to a configuration
        self.busy: str | None = None  # the reason why the bridge takes no turns
        # By channel: the reason why nobody is reached there, or None.
        self.channels: dict[str, str | None] = {"web": None}
        self.unsaid: str | None = None  # the reason why the engine did not say
        self.cause: str | None = None
        self.memory: Any = {"skills": [], "memories": [], "sessions": 0, "is_cut": False}
        self.unreadable: str | None = None  # the reason why the engine cannot read its memory
        self.said: list[Any] = []  # lines of the log as JSON, or bytes; a line's number is its place, counted from 1
        self.life = "0123456789abcdef"  # the id of the log
        self.backups: list[dict[str, Any]] = []  # the orders to back up, in the order of arrival
        self.backup: dict[str, Any] = {"phase": "done", "snapshot": "5" * 64, "size": 4096, "note": ""}
        self.backup_seconds = 0.0  # seconds until the state of the backup is known
        self.restores: list[dict[str, Any]] = []
        self._reset_messages()
        self.turn: Callable[[ReceivedTurn], Iterable[Event | bytes]] = echo  # bytes are a line that is no event
        self.turns: list[ReceivedTurn] = []
        self.configs: list[dict[str, Any]] = []
        self.aborted: list[ReceivedTurn] = []
        if self._http is None:
            self._http = _Http(("127.0.0.1", self._port), _Handler)
            self._http.double = self
            self._port = self._http.server_address[1]
            threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def state(self) -> dict[str, Any]:
        known = {"phase": self.phase, "revision": self.revision, "message": self.message, "restarts": 0}
        return {**known, "cause": self.cause, "evidence": [], "since": None, "enginePid": 1}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop listening."""
        if self._http is not None:
            self._http.shutdown()
            self._http.server_close()
            self._http = None


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    double: BridgeDouble


class _Handler(BaseHTTPRequestHandler):
    server: _Http

    def log_message(self, *_: object) -> None:
        """Log nothing: the double has what happened."""

    def do_GET(self) -> None:
        if self._has_token():
            double = self.server.double
            if self.path.startswith("/logs"):
                self._stream_log(double)
                return
            if self.path == "/memory" and double.unreadable:
                self._json(503, {"message": double.unreadable})
                return
            told = {"/channels": {"channels": double.channels, "unsaid": double.unsaid}, "/memory": double.memory}
            self._json(200, told[self.path] if self.path in told else double.state())

    def do_PUT(self) -> None:
        double = self.server.double
        config = self._body()
        if not self._has_token():
            return
        if self.path == "/backup":
            double.backups.append(config)
            time.sleep(double.backup_seconds)
            self._json(200, {"id": config["id"], **double.backup})
            return
        if self.path == "/message":
            double.messages.append(config)
            refusal = "the engine answered 400" if config["name"] in double.takes_never else double.takes_none
            if refusal:
                self._json(503, {"message": refusal})
                return
            self._json(200, {"is_over": config["name"] in double.over})
            return
        if self.path == "/restore":
            double.restores.append(config)
            self._json(200, {"phase": "running"})
            return
        if double.refuses:
            self._json(double.refuses, {"message": "no"})
            return
        double.configs.append(config)
        if double.applies:
            double.revision = config["revision"]
        self._json(202, {})

    def do_POST(self) -> None:
        double = self.server.double
        body = self._body()
        if not self._has_token():
            return
        if self.path == "/restart":
            double.restarted += 1
            self._json(202, {"restarting": double.phase in {"ready", "unhealthy"}})
            return
        turn = ReceivedTurn(body["session_id"], body["message"], time.monotonic())
        double.turns.append(turn)
        if double.busy:
            self._json(409, {"message": double.busy})
            return
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.end_headers()
        try:
            for event in double.turn(turn):
                self.wfile.write((event if isinstance(event, bytes) else json.dumps(event).encode()) + b"\n")
                self.wfile.flush()
        except OSError:
            double.aborted.append(turn)

    def _stream_log(self, double: BridgeDouble) -> None:
        """Stream log lines until the client or the double goes away."""
        asked = {name: words[0] for name, words in parse_qs(urlsplit(self.path).query).items()}
        told = int(asked["after"]) if asked.get("life") == double.life else 0
        life, http = double.life, self.server
        self.send_response(200)
        self.send_header("Log-Life", life)
        self.end_headers()
        try:
            while double.life == life and double._http is http:
                for number, line in enumerate(double.said[told:], told + 1):
                    raw = line if isinstance(line, bytes) else json.dumps({"n": number, **line}).encode()
                    self.wfile.write(raw + b"\n")
                told = len(double.said)
                self.wfile.write(b"\n")
                time.sleep(0.05)
        except OSError:
            return

    def _body(self) -> Any:
        return json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")

    def _has_token(self) -> bool:
        if self.headers.get("Authorization") == f"Bearer {TOKEN}":
            return True
        self._json(401, {"message": "wrong bridge token"})
        return False

    def _json(self, status: int, body: Any) -> None:
        raw = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)
