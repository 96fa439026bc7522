"""Answers of unknown length are produced only as fast as the client reads them."""

from __future__ import annotations

import time

import pytest
import requests

from tests.config.serving.application import POURED, UNREAD_SECONDS
from tests.config.serving.front import FrontProcess, is_ended


def test_a_download_that_nobody_reads_is_not_gathered(front: FrontProcess) -> None:
    """Otherwise the server would keep a whole backup in its memory."""
    before = front.memory()
    with front.dial(b"GET /pour HTTP/1.1\r\nHost: x\r\n\r\n") as connection:
        until, most = time.monotonic() + UNREAD_SECONDS, 0
        while time.monotonic() < until:
            time.sleep(0.05)
            most = max(most, front.memory() - before)
        assert most < 64 * 2**20
        assert is_ended(connection, pause=0.05)


def test_who_asks_for_the_headers_of_a_download_waits_for_no_more(front: FrontProcess) -> None:
    started = time.monotonic()
    answer = requests.head(f"http://127.0.0.1:{front.port}/pour", timeout=30)
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/gzip")
    assert time.monotonic() - started < 5
    assert front.get("/echo").status_code == 200


@pytest.mark.sampled
def test_a_download_comes_whole_and_as_fast_as_it_is_read(front: FrontProcess) -> None:
    before, started = front.memory(), time.monotonic()
    with front.dial(b"GET /pour HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n") as connection:
        size = 0
        while piece := connection.recv(2**20):
            size += len(piece)
    assert size > POURED
    assert front.memory() - before < 64 * 2**20
    assert size / (time.monotonic() - started) > 20 * 2**20
