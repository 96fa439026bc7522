"""Reads the name of the server from the first message of a TLS client (RFC 8446 section 4.1.2, RFC 6066 section 3)."""

from __future__ import annotations

MOST_BYTES = 16 * 1024
_HANDSHAKE, _CLIENT_HELLO = 22, 1
_SERVER_NAME, _HOST_NAME = 0, 0


class IncompleteError(Exception):
    """The message is not here as a whole yet."""


def is_tls(data: bytes) -> bool:
    return data[:1] == bytes([_HANDSHAKE])


def server_name(data: bytes) -> str | None:
    """The name that the client asks for; None if it names none, or if this is no ClientHello. Raises IncompleteError
    while more is needed.
    """
    hello = _Reader(_message(data))
    try:
        hello.take(2 + 32)  # version, random
        for size in (1, 2, 1):  # session id, cipher suites, compression methods
            hello.vector(size)
        extensions = _Reader(hello.vector(2))
        while extensions.left:
            kind, body = extensions.number(2), extensions.vector(2)
            if kind == _SERVER_NAME:
                return _first_name(body)
    except IndexError:
        pass  # it ends too early, so it names nothing that we can read
    return None


def _message(data: bytes) -> bytes:
    """The ClientHello without its records; empty if it is none."""
    message, records = b"", _Reader(data)
    try:
        while len(message) < 4 or len(message) < 4 + int.from_bytes(message[1:4], "big"):
            if records.number(1) != _HANDSHAKE:
                return b""
            records.take(2)
            message += records.vector(2)
    except IndexError as error:
        raise IncompleteError from error
    return message[4 : 4 + int.from_bytes(message[1:4], "big")] if message[0] == _CLIENT_HELLO else b""


def _first_name(body: bytes) -> str | None:
    names = _Reader(_Reader(body).vector(2))
    return names.vector(2).decode("ascii", "replace").lower() if names.number(1) == _HOST_NAME else None


class _Reader:
    """Raises IndexError where the data ends too early."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def take(self, count: int) -> bytes:
        if self.left < count:
            raise IndexError
        self._at += count
        return self._data[self._at - count : self._at]

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def vector(self, size: int) -> bytes:
        return self.take(self.number(size))
