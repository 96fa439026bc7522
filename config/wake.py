"""The only way to start work elsewhere: a task by name and ids, after the transaction has committed.

One attempt, one second. A broker that is down is logged and never an error to the caller: what is due stays due in its
row and the scan finds it (design: Invariants 2).
"""

from __future__ import annotations

import logging
from functools import partial

from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

log = logging.getLogger(__name__)


def on_commit(task_name: str, *ids: str) -> None:
    """Send `task_name(*ids)` once the current transaction commits, or at once outside of one."""
    transaction.on_commit(partial(_send, task_name, ids))


def _send(task_name: str, ids: tuple[str, ...]) -> None:
    try:
        current_app.send_task(task_name, args=ids, retry=False, ignore_result=True)
    except (OperationalError, OSError) as error:
        log.warning("broker down, the scan will find it", extra={"task": task_name, "ids": ids, "error": str(error)})
