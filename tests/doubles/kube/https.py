"""An HTTPS server in threads of this process, which can be stopped and started again on the same port."""

from __future__ import annotations

import json
import select
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

_JOIN_SECONDS = 5.0


class KubeExchange(BaseHTTPRequestHandler):
    """One connection; the server's `respond` answers each of its requests."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # head and body in one TLS record
    server: KubeHttps

    def do_GET(self) -> None:
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = urlsplit(self.path)
        self.route = unquote(parts.path)
        self.query = dict(parse_qsl(parts.query, keep_blank_values=True))
        self.server.respond(self)

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815 - the names are the library's

    def answer(self, status: int, document: Any, *, retry_after: int | None = None) -> None:
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain" if isinstance(document, bytes) else "application/json")
        self.send_header("Content-Length", str(len(body)))
        if retry_after is not None:
            self.send_header("Retry-After", str(retry_after))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    @property
    def certified(self) -> str | None:
        """The common name in the client's certificate."""
        assert isinstance(self.connection, ssl.SSLSocket)
        subject: Any = (self.connection.getpeercert() or {}).get("subject", ())
        return next((value for part in subject for name, value in part if name == "commonName"), None)

    def begin_stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()

    def send_chunk(self, part: bytes) -> None:
        """Send a chunk; an empty chunk ends the stream."""
        if part or not self.close_connection:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            self.wfile.flush()

    def is_left(self) -> bool:
        """Whether the client of a stream has gone: it sends no more data, so readable means closed."""
        poll = select.poll()
        poll.register(self.connection, select.POLLIN)
        return bool(poll.poll(0))

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


class KubeHttps(HTTPServer):
    request_queue_size = 128

    def __init__(self, port: int, tls: ssl.SSLContext, respond: Callable[[KubeExchange], None]) -> None:
        super().__init__(("127.0.0.1", port), KubeExchange)
        self.respond = respond
        self._tls = tls
        self._open: dict[socket.socket, threading.Thread] = {}
        self._lock = threading.Lock()
        self._acceptor = threading.Thread(target=self._accept, name="kube-accept", daemon=True)

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def start(self) -> None:
        self._acceptor.start()

    def _accept(self) -> None:
        with suppress(OSError):  # the socket was closed
            while True:
                plain, address = self.socket.accept()
                secure = self._secured(plain)
                if secure is None:
                    continue
                thread = threading.Thread(target=self._serve, args=(secure, address), name="kube-http", daemon=True)
                with self._lock:
                    self._open[secure] = thread
                thread.start()

    def _secured(self, plain: socket.socket) -> ssl.SSLSocket | None:
        """The TLS socket; None for a client that has gone: wrapping fails and leaves a socket that nobody closes."""
        try:
            plain.getpeername()
            # The handshake happens in the connection's own thread, with its first read.
            return self._tls.wrap_socket(plain, server_side=True, do_handshake_on_connect=False)
        except OSError:
            plain.close()
            return None

    def _serve(self, connection: ssl.SSLSocket, address: Any) -> None:
        try:
            with suppress(OSError, ValueError):  # the client, or the test, closed it
                self.finish_request(connection, address)
        finally:
            with self._lock:
                self._open.pop(connection, None)
            _end(connection)
            connection.close()

    def close(self) -> None:
        """Close every connection, also in the middle of an answer."""
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self._acceptor.join(_JOIN_SECONDS)
        self.server_close()
        with self._lock:
            connections = dict(self._open)
        for connection in connections:
            _end(connection)
        for thread in connections.values():
            thread.join(_JOIN_SECONDS)


def _end(connection: socket.socket) -> None:
    """Shut down the TCP socket. A TLS goodbye from this thread would disturb the connection's own thread."""
    with suppress(OSError):
        socket.socket.shutdown(connection, socket.SHUT_RDWR)
