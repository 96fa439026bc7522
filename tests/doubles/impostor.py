"""An impostor in the place of a pod's gateway: it accepts every call, keeps what it receives and lies about the pod."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import threading
from typing import Self

_LIE: dict[str, object] = {
    "revision": 0,
    "has_key": True,
    "engine": None,
    "reply": "I am your agent",
    "session_id": "s",
    "hops": [],
}
_BODY = json.dumps(_LIE).encode()
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(_BODY), _BODY)


class Impostor:
    """Speaks plain HTTP, or TLS if `context` is given. `port=0` takes any free port; another port must be free now."""

    def __init__(self, port: int = 0, *, host: str = "127.0.0.1", context: ssl.SSLContext | None = None) -> None:
        self.told = b""  # what was received, decrypted
        self.calls = 0
        self.called = threading.Event()
        self.context = context
        self._listener = socket.create_server((host, port))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._listen, name="impostor", daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def _listen(self) -> None:
        with contextlib.suppress(OSError):  # the connection is closed
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._hear, args=(connection,), daemon=True).start()

    def _hear(self, connection: socket.socket) -> None:
        self.calls += 1
        self.called.set()
        connection.settimeout(10)
        with contextlib.suppress(OSError), self._greet(connection) as caller:
            while said := caller.recv(65536):
                self.told += said
                caller.sendall(ANSWER)

    def _greet(self, connection: socket.socket) -> socket.socket:
        return self.context.wrap_socket(connection, server_side=True) if self.context else connection
