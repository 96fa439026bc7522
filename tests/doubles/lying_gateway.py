"""A gateway under an attacker's control: it has the pod's certificate, and answers every call as a test says."""

from __future__ import annotations

import contextlib
import re
import socket
import ssl
import threading
import time
from pathlib import Path
from typing import Self

from agents.runtimes.base import Endpoint, Identity


class LyingGateway:
    """`body` is the answer to every call, with `pause` seconds before each byte if that is not 0."""

    def __init__(self, identity: Identity, directory: Path) -> None:
        self.body = b"{}"
        self.pause = 0.0
        self.asked: list[str] = []
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        key, certificate = directory / "key.pem", directory / "certificate.pem"
        key.write_text(identity.key or "")
        certificate.write_text(identity.certificate)
        self._context.load_cert_chain(certificate, key)
        self._listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._listen, name="lying-gateway", daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    @property
    def endpoint(self) -> Endpoint:
        url = f"https://127.0.0.1:{self._listener.getsockname()[1]}"
        return Endpoint(public_url=url, management_url=url)

    def _listen(self) -> None:
        with contextlib.suppress(OSError):  # the connection is closed
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        connection.settimeout(60)
        with contextlib.suppress(OSError), self._context.wrap_socket(connection, server_side=True) as caller:
            self.asked.append(_request(caller).decode().partition("\r\n")[0])
            head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
            caller.sendall(head % len(self.body))
            if not self.pause:
                caller.sendall(self.body)
                return
            for byte in self.body:
                time.sleep(self.pause)
                caller.sendall(bytes([byte]))


def _request(caller: ssl.SSLSocket) -> bytes:
    """The whole request: of a caller who is not heard out, the answer may get lost."""
    head, _, body = caller.recv(65536).partition(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: ([0-9]+)", head)
    while length and len(body) < int(length[1]) and (more := caller.recv(65536)):
        body += more
    return head
