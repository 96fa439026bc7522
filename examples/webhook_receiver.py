"""A webhook receiver that needs only the standard library. It verifies each event before it uses it. Copy it freely.

Run alone, it prints the events that arrive: SECRET=whsec_… python examples/webhook_receiver.py [PORT]
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import sys
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Received:
    headers: dict[str, str]
    body: bytes
    verified: bool

    @property
    def event(self) -> dict[str, Any]:
        parsed: dict[str, Any] = json.loads(self.body)
        return parsed


def is_genuine(body: bytes, signature: str, secret: str) -> bool:
    """Whether the signature of the raw bytes is right, compared in constant time."""
    expected = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), signature.encode())


class WebhookReceiver(ThreadingHTTPServer):
    """A receiver that keeps every delivery. A retry has the same id as the first attempt: act on each id only once."""

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), ReceiverHandler)
        self.secret = ""
        self.received: list[Received] = []
        self.url = f"http://127.0.0.1:{self.server_port}/events"
        self._arrived = threading.Condition()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def wait_for(self, event_type: str, *, seconds: float, skip: int = 0) -> Received:
        """Wait for the delivery of this type after the first `skip` deliveries. Raises TimeoutError."""
        deadline = time.monotonic() + seconds
        with self._arrived:
            while len(found := self.of_type(event_type)) <= skip:
                if not self._arrived.wait(deadline - time.monotonic()) and time.monotonic() >= deadline:
                    raise TimeoutError(f"no {event_type} event within {seconds:.0f} s")
            return found[skip]

    def of_type(self, event_type: str) -> list[Received]:
        """One genuine delivery for each event id, oldest first."""
        once: dict[str, Received] = {}
        for one in self.received:
            if one.verified:
                once.setdefault(one.headers["X-Service-Delivery"], one)
        return [one for one in once.values() if one.event["type"] == event_type]

    def keep(self, headers: dict[str, str], body: bytes) -> bool:
        """Keep the delivery, and return whether it is genuine."""
        genuine = is_genuine(body, headers.get("X-Service-Signature", ""), self.secret)
        with self._arrived:
            self.received.append(Received(headers, body, genuine))
            self._arrived.notify_all()
        return genuine


class ReceiverHandler(BaseHTTPRequestHandler):
    server: WebhookReceiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        genuine = self.server.keep(dict(self.headers.items()), body)
        self.send_response(204 if genuine else 401)  # any 2xx status within 10 s means that the event was received
        self.end_headers()

    def log_message(self, *args: object) -> None:
        """Log nothing: `main` prints the events."""


def main() -> None:
    receiver = WebhookReceiver(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    receiver.secret = os.environ.get("SECRET", "")
    print(f"listening on {receiver.url}")
    shown = 0
    while True:
        time.sleep(0.2)
        for one in receiver.received[shown:]:
            print("genuine" if one.verified else "FORGED ", one.body.decode(errors="replace"))
            shown += 1


if __name__ == "__main__":
    main()
