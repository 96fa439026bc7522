"""Two transactions that need the same rows."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from django.db import connection, transaction
from django.db.models import QuerySet

WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))"


def act_while_held(act: Callable[[], Any], rows: Sequence[QuerySet[Any]]) -> Any:
    """Run `act` in a thread while this transaction holds the first of these rows; then lock the others here. Returns
    act's result.

    If the act has already locked one of the others, PostgreSQL ends one of the two transactions (a deadlock).
    """
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append(act())
        finally:
            connection.close()

    acting = threading.Thread(target=run)
    with transaction.atomic():
        assert rows[0].select_for_update().get()
        acting.start()
        while not _is_waited_for():
            assert acting.is_alive(), "did not want the first row"
            time.sleep(0.01)
        assert all(each.select_for_update().get() for each in rows[1:])
    acting.join()
    (returned,) = outcome
    return returned


def _is_waited_for() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(WAITING)
        return bool(cursor.fetchone()[0])
