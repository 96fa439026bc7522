"""A web process that ends still answers while its clients move to other processes, so an upgrade loses no request."""

from __future__ import annotations

import http.client
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.patience import wait_until
from tests.webs import Web

pytestmark = pytest.mark.unmeasured

CLIENTS = 16
LEARNED_SECONDS = 2.0  # after this time the balancer sends no request to a process that ends
DRAIN_SECONDS = 5


class Ending(Web):
    """A web process that will be told to end."""

    def __init__(self, log: Path) -> None:
        super().__init__(log, "--drain-seconds", str(DRAIN_SECONDS), "--stop-seconds", "20")
        self.told_at = float("inf")

    def is_draining(self) -> bool:
        return self.get("/health/ready").status_code == 503

    def end(self) -> None:
        self.told_at = time.monotonic()
        self.process.send_signal(signal.SIGTERM)


@pytest.fixture
def web(tmp_path: Path, transactional_db: None) -> Iterator[Ending]:
    web = Ending(tmp_path / "web.log")
    try:
        web.wait()
        yield web
    finally:
        web.process.kill()
        web.process.wait(10)


def keep_asking(web: Ending, pause: float) -> list[tuple[int, bool, bool]]:
    """Send requests as a client that keeps its connections does. Returns three values for each request.

    These are the status, whether the connection closed after the answer, and whether the answer came before the process
    was told to end. The client uses this process until the balancer has learned that it ends. Raises when a request is
    lost.
    """
    seen: list[tuple[int, bool, bool]] = []
    connection = http.client.HTTPConnection("127.0.0.1", web.port, timeout=30)
    while True:
        connection.request("GET", "/tiers")
        answer = connection.getresponse()
        answer.read()
        seen.append((answer.status, answer.will_close, time.monotonic() < web.told_at))
        if answer.will_close:
            connection.close()
            if time.monotonic() > web.told_at + LEARNED_SECONDS:
                return seen
        time.sleep(pause)


@pytest.mark.sampled
def test_no_request_is_lost_and_every_client_is_sent_away(web: Ending) -> None:
    with ThreadPoolExecutor(CLIENTS) as clients:
        asking = [clients.submit(keep_asking, web, 0.02 * (1 + number)) for number in range(CLIENTS)]
        time.sleep(1)
        web.end()
        wait_until(web.is_draining)
        seen = [client.result() for client in asking]
    assert {status for client in seen for status, _, _ in client} == {200}
    early = [last for client in seen for _, last, is_early in client if is_early]
    assert early
    assert not any(early)  # a process that does not end keeps its connections
    assert all(client[-1][1] for client in seen)
    assert web.process.wait(30) == 0


@pytest.mark.sampled
def test_told_twice_it_ends_at_once(web: Ending) -> None:
    web.end()
    wait_until(web.is_draining)
    web.end()
    assert web.process.wait(DRAIN_SECONDS - 1) == 0
