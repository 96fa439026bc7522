"""A model provider: OpenAI chat completions and responses, Anthropic messages, Google generateContent.

It uses real HTTP and real server-sent events, and keeps every request with its headers and body. In a test it is a
context manager; `python -m tests.doubles.model_server --port 9000` runs it alone. `base_url("openai")` is the base URL
for that vendor's SDK.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections.abc import Callable
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from tests.doubles import model_protocols
from tests.doubles.model_protocols import Protocol, Seen, ToolCall, VendorUsage
from tests.doubles.reached import ADDRESS

# The path after the host in the base URL of each vendor's SDK.
SDK_BASES = {
    "openai": "/v1",
    "anthropic": "",
    "openrouter": "/api/v1",
    "google": "/v1beta",
    "gemini": "/v1beta",
    "groq": "/openai/v1",
    "mistral": "/v1",
    "deepseek": "",
    "xai": "/v1",
    "nous": "/v1",
}


class Mood(StrEnum):
    FINE = "fine"
    UNAUTHORIZED = "401"
    RATE_LIMITED = "429"
    BROKEN = "500"
    HANGING = "hang"  # takes the request and never answers
    SLOW = "slow"  # sends its words one by one, `pause` seconds apart


class ModelServer:
    """Set `mood`, `reply`, `key`, `tool_calls` and `usage` at any time; read `seen`."""

    def __init__(self, *, port: int = 0, key: str | None = None) -> None:
        self.mood = Mood.FINE
        self.key = key  # if set, every other key is refused
        self.reply: str | Callable[[Seen], str] = "pong"
        self.tool_calls: list[ToolCall] = []  # the model calls each of them once, before its next text
        self.pause = 0.5
        self.retry_after = 0  # seconds to wait, in the answer to a RATE_LIMITED caller; 0: not in the answer
        self.speaks = frozenset(Protocol)  # most servers other than the vendors' own speak only one protocol
        self.usage: Callable[[int], VendorUsage] = lambda _: VendorUsage()  # of the first, second, ... request
        self.seen: list[Seen] = []
        self.closed_early = 0  # answers whose reader went away
        self._released = threading.Event()
        self._lock = threading.Lock()
        self._http = _Http((ADDRESS, port), _Handler)
        self._http.double = self
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    def base_url(self, provider: str) -> str:
        return f"http://{ADDRESS}:{self.port}{SDK_BASES[provider]}"

    def base_urls(self) -> dict[str, str]:
        return {provider: self.base_url(provider) for provider in SDK_BASES}

    def turns(self) -> list[Seen]:
        """The requests that asked for an answer, oldest first."""
        return [seen for seen in self.seen if seen.protocol]

    def release(self) -> None:
        """End all hanging answers without sending anything."""
        self._released.set()
        self._released = threading.Event()

    def hang(self) -> None:
        self._released.wait(600)

    def note(self, seen: Seen) -> None:
        with self._lock:
            self.seen.append(seen)

    def next_tool_call(self, seen: Seen) -> ToolCall | None:
        with self._lock:
            if self.tool_calls and self.tool_calls[0].name in seen.tools:
                return self.tool_calls.pop(0)
        return None

    def start(self) -> Self:
        self._thread.start()
        return self

    def stop(self) -> None:
        self._released.set()
        self._http.shutdown()
        self._http.server_close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    double: ModelServer


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def log_message(self, *_: object) -> None:
        """Log nothing: the requests are in `seen`."""

    def do_GET(self) -> None:
        seen = self._seen({})
        if not self._key_is_good(seen):
            return self._json(401, model_protocols.error_body(401))
        if urlsplit(self.path).path.rstrip("/").endswith(("/models", "/key", "/api-key", "/balance")):
            return self._json(200, {"object": "list", "data": [], "models": [], "is_available": True})
        return self._json(404, {"error": {"message": "not found"}})

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        seen = self._seen(json.loads(self.rfile.read(length) or b"{}"))
        double = self.server.double
        if not self._key_is_good(seen):
            return self._json(401, model_protocols.error_body(401))
        if seen.protocol not in double.speaks:
            return self._json(404, {"error": {"message": f"no such path: {seen.path}"}})
        if double.mood in {Mood.UNAUTHORIZED, Mood.RATE_LIMITED, Mood.BROKEN}:
            return self._json(int(double.mood), model_protocols.error_body(int(double.mood)))
        if double.mood == Mood.HANGING:
            self.close_connection = True
            return double.hang()
        return self._answer(seen)

    def _seen(self, body: dict[str, Any]) -> Seen:
        url = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        double, query = self.server.double, parse_qs(url.query)
        usage = double.usage(len(double.seen))
        seen = Seen(path=url.path, query=query, headers=headers, body=body, at=time.time(), usage=usage)
        double.note(seen)
        return seen

    def _key_is_good(self, seen: Seen) -> bool:
        return self.server.double.key in (None, seen.key)

    def _answer(self, seen: Seen) -> None:
        double = self.server.double
        call = double.next_tool_call(seen)
        text = double.reply(seen) if callable(double.reply) else double.reply
        chunks = model_protocols.answer(seen, words=_words(text), call=call)
        if not seen.wants_stream:
            return self._json(200, model_protocols.whole(seen, text))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        return self._stream(chunks)

    def _stream(self, chunks: list[str]) -> None:
        double = self.server.double
        try:
            for chunk in chunks:
                if double.mood == Mood.SLOW:
                    time.sleep(double.pause)
                self.wfile.write(chunk.encode())
                self.wfile.flush()
        except OSError:
            double.closed_early += 1

    def _json(self, status: int, body: dict[str, Any]) -> None:
        raw = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.send_header("Connection", "close")  # a stopped server must not answer on an open connection
        if str(status) == Mood.RATE_LIMITED and self.server.double.retry_after:
            self.send_header("Retry-After", str(self.server.double.retry_after))
        self.end_headers()
        self.wfile.write(raw)


def _words(text: str) -> list[str]:
    """The text in pieces; joined, they give the text again."""
    pieces = text.split(" ")
    return [piece if n == 0 else f" {piece}" for n, piece in enumerate(pieces)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--key", help="refuse every other key")
    parser.add_argument("--reply", default="pong")
    given = parser.parse_args()
    server = ModelServer(port=given.port, key=given.key)
    server.reply = given.reply
    with server:
        print(f"http://{ADDRESS}:{server.port}", flush=True)  # noqa: T201 - the address is its output
        threading.Event().wait()


if __name__ == "__main__":
    main()
