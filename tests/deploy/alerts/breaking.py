"""What tests break: a connection that blocks a table, and many requests at once."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager

import psycopg
import requests
from django.utils import timezone
from psycopg.sql import SQL, Identifier

from accounts import sessions
from accounts.models import User
from tests.deploy.alerts.judging import asked
from tests.patience import wait_until
from tests.workers import database_url

LONG_SECONDS = 60


@contextmanager
def blocked(table: str) -> Iterator[int]:
    """Somebody holds this table in a transaction and goes home. Yields the number of that connection."""
    with closing(psycopg.connect(database_url())) as forgotten:
        forgotten.execute(SQL("lock table {}").format(Identifier(table)))
        yield forgotten.info.backend_pid


def blocking() -> int:
    """The connection for which others wait, as the statement of the runbook names it."""
    found: set[int] = set()

    def look() -> bool:
        for row in asked("DatabasePoolExhausted", "select pid, pg_blocking_pids"):
            found.update(row[1])  # type: ignore[arg-type]  # a list of numbers
        return bool(found)

    wait_until(look, LONG_SECONDS)
    (pid,) = found
    return pid


def end(pid: int) -> None:
    """What the runbook says to do with it."""
    assert asked("DatabasePoolExhausted", "select pg_terminate_backend", PID=pid) == [(True,)]


class Visitors:
    """Many requests of one person at once: `with visitors.come(12) as statuses`."""

    def __init__(self, url: str, owner: User, *, port: int = 0) -> None:
        """`port` is where the program that they visit tells its metrics."""
        self._url, self.port = url, port
        token = sessions.start(owner, attribution=None, now=timezone.now())[1]
        self._headers = {"Authorization": f"Bearer {token}"}
        self._threads = ThreadPoolExecutor(200)

    def get(self, path: str = "/agents") -> requests.Response:
        return requests.get(self._url + path, headers=self._headers, timeout=LONG_SECONDS)

    @contextmanager
    def come(self, count: int) -> Iterator[list[int]]:
        """So many ask at once. Their statuses are there when the block ends."""
        statuses: list[int] = []
        asking = [self._threads.submit(self.get) for _ in range(count)]
        yield statuses
        statuses += [one.result().status_code for one in asking]
