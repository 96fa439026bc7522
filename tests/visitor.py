"""A visitor for whom every name leads to this machine, over HTTPS with verified certificates."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class TlsReply:
    status: int
    headers: Mapping[str, str]
    body: bytes
    handshake_seconds: float
    serial: str  # of the certificate that the server showed

    def json(self) -> Any:
        return json.loads(self.body)


class _Connection(http.client.HTTPSConnection):
    """A connection to 127.0.0.1, whatever the name."""

    handshake_seconds = 0.0
    serial = ""

    def __init__(self, name: str, port: int, *, context: ssl.SSLContext, come_from: str) -> None:
        super().__init__(name, port, context=context, timeout=60)
        self._tls, self._come_from = context, come_from

    def connect(self) -> None:
        plain = socket.create_connection(("127.0.0.1", self.port), 60, (self._come_from, 0))
        began = time.monotonic()
        try:
            secured = self._tls.wrap_socket(plain, server_hostname=self.host)
        except OSError:
            plain.close()
            raise
        self.handshake_seconds = time.monotonic() - began
        self.serial = str((secured.getpeercert() or {})["serialNumber"])
        self.sock = secured


class TlsVisitor:
    def __init__(self, port: int, *, roots: Path, come_from: str = "127.0.0.1") -> None:
        self._port, self._come_from = port, come_from
        self._context = ssl.create_default_context(cafile=roots)

    def ask(self, name: str, path: str = "/", *, method: str = "GET", body: Any = None, **headers: str) -> TlsReply:
        """Send a request to this name. Raises ssl.SSLError if the server has no certificate for the name."""
        connection = _Connection(name, self._port, context=self._context, come_from=self._come_from)
        sent = {word.replace("_", "-"): value for word, value in headers.items()}
        if body is not None:
            body, sent["Content-Type"] = json.dumps(body), "application/json"
        try:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            told = {word.lower(): value for word, value in answer.getheaders()}
            return TlsReply(answer.status, told, answer.read(), connection.handshake_seconds, connection.serial)
        finally:
            connection.close()
