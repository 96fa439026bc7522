"""Answers of services outside: a body has an end, however the service sends it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
import requests

from config import answers

Send = Callable[[BaseHTTPRequestHandler], None]


class NotTaken(Exception):
    pass


@contextmanager
def served(send: Send, *, length: int) -> Iterator[requests.Response]:
    """An answer that promises `length` bytes and is sent by `send`."""

    class AnswerHandler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(length))
            self.end_headers()
            send(self)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), AnswerHandler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            with (
                requests.Session() as session,
                session.get(f"http://127.0.0.1:{server.server_port}", timeout=5, stream=True) as answer,
            ):
                yield answer
        finally:
            server.shutdown()
            thread.join()


def body_of(answer: requests.Response, *, seconds: float = 5) -> bytes:
    return answers.body_of(answer, at_most=10, until=time.monotonic() + seconds, refuse=NotTaken)


def at_once(body: bytes) -> Send:
    def send(to: BaseHTTPRequestHandler) -> None:
        to.wfile.write(body)

    return send


def byte_by_byte(to: BaseHTTPRequestHandler) -> None:
    for _ in range(10):
        try:
            to.wfile.write(b".")
            to.wfile.flush()
        except OSError:  # the reader has left
            return
        time.sleep(0.1)


def test_a_body_that_fits_is_whole() -> None:
    with served(at_once(b"0123456789"), length=10) as answer:
        assert body_of(answer) == b"0123456789"


def test_a_body_that_is_too_large_is_refused() -> None:
    with served(at_once(b"0123456789!"), length=11) as answer, pytest.raises(NotTaken, match="more than 10 bytes"):
        body_of(answer)


def test_a_body_that_comes_byte_by_byte_has_an_end() -> None:
    with served(byte_by_byte, length=10) as answer, pytest.raises(NotTaken, match="not in time"):
        body_of(answer, seconds=0.25)


def test_a_body_that_breaks_off_is_an_error_of_the_connection() -> None:
    with served(at_once(b"01234"), length=10) as answer, pytest.raises(requests.ConnectionError):
        body_of(answer)
