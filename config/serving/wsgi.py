"""One call of a WSGI application (PEP 3333), for a request that was read completely."""

from __future__ import annotations

import io
import sys
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextvars import Context
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from granian.rsgi import Scope

Headers = list[tuple[str, str]]

# The server leaves out a header whose value is not ASCII. Without one of these a call would do more than was asked, so
# such a value arrives as a text that no call takes.
_NEVER_LOST = ("idempotency-key", "if-match")
UNREADABLE = "\N{REPLACEMENT CHARACTER}"


@dataclass(frozen=True, slots=True)
class Head:
    """Unless the answer is `endless`, its first piece is the whole body."""

    status: int
    headers: Headers
    endless: bool


@dataclass(frozen=True, slots=True)
class Followed:
    """An answer that goes on after its request. `end` is called once, even if `begin` was never called.

    `head` is asked once the first piece is there. The generator runs in `context`. An answer that `may_finish` goes on
    while the process ends.
    """

    begin: Callable[[], AsyncGenerator[bytes, None]]
    end: Callable[[], None]
    head: Callable[[], Head]
    context: Context | None
    may_finish: bool


@dataclass(frozen=True, slots=True)
class WsgiAnswer:
    """`pieces` is the body. A `streamed` body is sent piece by piece, any other at once."""

    status: int
    headers: Headers
    pieces: Iterable[bytes]
    streamed: bool

    def whole(self) -> bytes:
        return b"".join(self.pieces)

    def file(self) -> Path | None:
        """The file that is the whole body, if there is one: a static file of ours (whitenoise)."""
        name = getattr(getattr(self.pieces, "file_to_stream", None), "name", None)
        return Path(name) if self.status == HTTPStatus.OK and isinstance(name, str) else None

    def followed(self) -> Followed | None:
        """The body as an asynchronous generator, if it has one (config/streams.py).

        The caller then owns the generator.
        """
        hand_over = getattr(self.pieces, "hand_over", None)
        if hand_over is None:
            return None
        begin, end = hand_over()
        context, may_finish = getattr(self.pieces, "context", None), getattr(self.pieces, "may_finish", False)
        return Followed(begin, end, self._head, context=context, may_finish=may_finish)

    def _head(self) -> Head:
        late = getattr(self.pieces, "head", None)
        status, headers = late() if late else (self.status, self.headers)
        return Head(status, headers, endless=getattr(self.pieces, "is_endless", True))

    def close(self) -> None:
        """Close the answer. Each one must be closed, because Django then gives its database connection back."""
        close = getattr(self.pieces, "close", None)
        if close:
            close()


def call(application: WSGIApplication, environ: WSGIEnvironment) -> WsgiAnswer:
    """The application's answer. A body of unknown length is streamed."""
    started: list[tuple[str, Headers]] = []

    def start(status: str, headers: Headers, _exc_info: Any = None) -> Callable[[bytes], object]:
        started[:] = [(status, headers)]
        return _no_write

    pieces = application(environ, _as_start_response(start))
    status, headers = started[0]
    known = any(name.lower() == "content-length" for name, _ in headers)
    streams = bool(getattr(pieces, "streaming", isinstance(pieces, Iterator)))
    return WsgiAnswer(int(status.split(" ", 1)[0]), headers, pieces, streamed=streams and not known)


def _as_start_response(start: Any) -> StartResponse:
    return start  # type: ignore[no-any-return]  # the protocol's overloads say the same with more words


def _no_write(_: bytes) -> None:
    raise NotImplementedError("write() of PEP 3333 is for applications older than Django")


def environ(scope: Scope, body: bytes) -> WSGIEnvironment:
    """The request as CGI variables. Headers with an underscore are dropped: they could imitate another header."""
    server, _, port = scope.server.rpartition(":")
    client, _, client_port = scope.client.rpartition(":")
    found: WSGIEnvironment = {
        "REQUEST_METHOD": scope.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": scope.path.encode().decode("latin-1"),
        "QUERY_STRING": scope.query_string.encode().decode("latin-1"),
        "SERVER_NAME": server.strip("[]"),
        "SERVER_PORT": port,
        "SERVER_PROTOCOL": f"HTTP/{scope.http_version}",
        "REMOTE_ADDR": client.strip("[]"),
        "REMOTE_PORT": client_port,
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope.scheme,
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    for name, value in scope.headers.items():
        if "_" not in name:
            _add(found, name, value)
    for name in _NEVER_LOST:
        if f"HTTP_{name.upper().replace('-', '_')}" not in found and name in scope.headers:
            _add(found, name, UNREADABLE)
    found["CONTENT_LENGTH"] = str(len(body))
    return found


def _add(environ: WSGIEnvironment, name: str, value: str) -> None:
    key = name.upper().replace("-", "_")
    key = key if key in {"CONTENT_TYPE", "CONTENT_LENGTH"} else f"HTTP_{key}"
    if key in environ:
        value = f"{environ[key]}{';' if key == 'HTTP_COOKIE' else ','}{value}"
    environ[key] = value
