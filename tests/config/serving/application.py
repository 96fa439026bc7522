"""A WSGI application for tests of the front (the web server): it echoes, waits, streams, or is busy."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncGenerator, Iterable, Iterator
from functools import partial
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment

import django
import requests

from config import hanging_up, waiting
from config.errors import Unavailable
from config.serving import bodies, front, unread
from config.streams import EventStream, LaterAnswer

RUNNING = 2
GRACE_SECONDS = 1.0
UNREAD_SECONDS = 1.0
POURED = 512 * 2**20
LISTED = bytes(range(256)) * 2000
_closed = threading.Event()


def served() -> front.Front:
    django.setup()
    bodies.GRACE_SECONDS = GRACE_SECONDS
    unread.UNREAD_SECONDS, unread.LOOK_SECONDS = UNREAD_SECONDS, 0.1
    front.MAX_QUEUED = 4
    front.QUEUE_SECONDS = 1.0
    waiters = waiting.turns.threads + waiting.looks.total
    return front.Front(
        _application,
        running=RUNNING,
        waiting=waiters,
        alive=b'{"status": "ok"}',
        help_link='<https://x/docs#errors>; rel="help"',
    )


def _application(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
    answers = {
        "/echo": _echo,
        "/busy": _busy,
        "/health": lambda _, start: _said(start, {"left": "to Django"}),
        "/wait": _wait,
        "/stream": _stream,
        "/follow": _follow,
        "/later": _later,
        "/flood": _flood,
        "/pour": _pour,
        "/closed": _tell_of_the_end,
        "/large": _large,
        "/listed": _listed,
        "/broken": _broken,
    }
    return answers[environ["PATH_INFO"]](environ, start)


def _echo(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
    told = {name: value for name, value in environ.items() if isinstance(value, str)}
    told["body"] = environ["wsgi.input"].read().decode("latin-1")
    return _said(start, told)


def _busy(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
    """Occupy a thread until the server that the query names answers: `port=1`."""
    with requests.Session() as session:
        session.get(f"http://127.0.0.1:{environ['QUERY_STRING'].partition('=')[2]}/", timeout=60)
    return _said(start, {})


def _wait(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
    """Ask the server that the query names, on behalf of an account: `account=a&port=1`."""
    account, port = (part.partition("=")[2] for part in environ["QUERY_STRING"].split("&"))
    try:
        with (
            waiting.turns.take(account),
            requests.Session() as session,
            hanging_up.ends_with_caller(session),
        ):
            session.get(f"http://127.0.0.1:{port}/", timeout=60)
    except Unavailable as refused:
        return _said(start, {"message": refused.message}, status="503 Service Unavailable")
    except requests.RequestException as error:
        return _said(start, {"message": type(error).__name__}, status="502 Bad Gateway")
    return _said(start, {})


def _stream(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
    start("200 OK", [("Content-Type", "text/event-stream")])
    return _pieces()


def _pieces() -> Iterator[bytes]:
    try:
        for number in range(200):
            yield f"data: {number}\n\n".encode()
            time.sleep(0.05)
    finally:
        _closed.set()


def _follow(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
    """Send an event every 50 ms, for ever."""
    start("200 OK", [("Content-Type", "text/event-stream")])
    return EventStream(_beats, end=_closed.set)


def _later(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
    """Answer after as many seconds as the query says: `seconds=1`."""
    start("200 OK", [("Content-Type", "application/json")])
    seconds = float(environ["QUERY_STRING"].partition("=")[2])
    return LaterAnswer(partial(asyncio.sleep, seconds), _later_body, end=_closed.set)


def _later_body(answer: LaterAnswer) -> bytes:
    answer["ETag"] = '"after-the-wait"'
    return b'{"later": true}'


def _flood(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
    """Send as much as the client accepts."""
    start("200 OK", [("Content-Type", "text/event-stream")])
    return EventStream(_much, end=lambda: None)


def _pour(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
    """A download of unknown length."""
    start("200 OK", [("Content-Type", "application/gzip")])
    return (b"x" * 65_536 for _ in range(POURED // 65_536))


async def _beats() -> AsyncGenerator[bytes, None]:
    while True:
        yield f"data: {threading.active_count()}\n\n".encode()
        await asyncio.sleep(0.05)


async def _much() -> AsyncGenerator[bytes, None]:
    while True:
        yield b"x" * 65_536


def _tell_of_the_end(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
    """Answer when the stream was closed."""
    return _said(start, {"closed": _closed.wait(30)})


def _large(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
    """An answer larger than the system's buffers."""
    start("200 OK", [("Content-Type", "text/plain")])
    return [b"x" * 16_000_000]


def _listed(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
    """A large answer that is the same for everybody."""
    start("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(LISTED)))])
    return [LISTED]


def _broken(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
    raise RuntimeError("a defect")


def _said(start: StartResponse, told: dict[str, Any], *, status: str = "200 OK") -> Iterable[bytes]:
    start(status, [("Content-Type", "application/json")])
    return [json.dumps(told).encode()]
