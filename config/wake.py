"""The only way to start work elsewhere: a task by name and ids, after the transaction has committed.

One attempt, one second. A broker that is down is logged and never an error to the caller: what is due stays due in its
row and the scan finds it (design: Invariants 2).
"""

from __future__ import annotations

import functools
import logging
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from celery import current_app
from django.conf import settings
from django.db import transaction
from kombu import Connection, pools
from kombu.exceptions import KombuError

from config import volatile

log = logging.getLogger(__name__)

LIMIT_SECONDS = 1.0
_STEP_SECONDS = LIMIT_SECONDS / 2  # to connect, and to be answered

_asked = threading.local()  # `names`: what this thread has asked for while its wakes are gathered


def on_commit(task_name: str, *ids: str) -> None:
    """Send `task_name(*ids)` once the current transaction commits, or at once outside of one."""
    transaction.on_commit(partial(_send, task_name, ids))


@contextmanager
def gathered() -> Iterator[None]:
    """For what goes through many rows: a task without ids is sent when first asked for and once more at the end.

    It looks for all that is due, so one look is as good as many; what it would miss in between is beat's to find.
    """
    outer, _asked.names = getattr(_asked, "names", None), Counter[str]()
    try:
        yield
    finally:
        names, _asked.names = _asked.names, outer
        for name in names:
            if names[name] > 1:
                _send(name, ())


def _is_gathered(task_name: str, ids: tuple[str, ...]) -> bool:
    names: Counter[str] | None = getattr(_asked, "names", None)
    if names is None or ids:
        return False
    names[task_name] += 1
    return names[task_name] > 1


def _send(task_name: str, ids: tuple[str, ...]) -> None:
    if _is_gathered(task_name, ids):
        return
    try:
        volatile.attempt(lambda _: _publish(task_name, ids))
    except volatile.Away:
        log.warning("broker down, the scan will find it", extra={"task": task_name, "ids": ids})


def _publish(task_name: str, ids: tuple[str, ...]) -> None:
    try:
        with pools.producers[_connection()].acquire(block=True, timeout=LIMIT_SECONDS) as producer:
            current_app.send_task(task_name, args=ids, producer=producer, retry=False, ignore_result=True)
    except KombuError as error:
        raise ConnectionError(str(error)) from error


@functools.cache
def _connection() -> Connection:
    """A connection that gives up soon, where a worker's would wait for the broker to come back."""
    limits = {
        "socket_timeout": _STEP_SECONDS,
        "socket_connect_timeout": _STEP_SECONDS,
        "connect_retries_timeout": 0.01,
        "max_retries": 1,
        "interval_start": 0,
        "interval_step": 0,
    }
    options = {**settings.CELERY_BROKER_TRANSPORT_OPTIONS, **limits}
    return Connection(settings.CELERY_BROKER_URL, transport_options=options)
