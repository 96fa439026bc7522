"""The only way to start work in another process: send a task with ids after the transaction has committed.

One attempt, at most a second. If the broker is down, this is logged and is no error for the caller: the row still says
what is due, and a periodic scan finds it.
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

from config import redis_breaker

log = logging.getLogger(__name__)

LIMIT_SECONDS = 1.0
_STEP_SECONDS = LIMIT_SECONDS / 2  # to connect, and again to get an answer

_asked = threading.local()  # `names`: the tasks that this thread has asked for inside `gathered`


def on_commit(task_name: str, *ids: str) -> None:
    """Send `task_name(*ids)` when the current transaction commits, or at once outside of a transaction."""
    transaction.on_commit(partial(_send, task_name, ids))


def at_once(task_name: str, *ids: str) -> None:
    """Send `task_name(*ids)` now, without a look at the database. For threads that have no transaction."""
    _send(task_name, ids)


@contextmanager
def gathered() -> Iterator[None]:
    """For work on many rows: a task without ids is sent when first asked for, and once more at the end.

    The task looks for everything that is due, so one run is as good as many. Celery beat starts it again for the rest.
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
        redis_breaker.attempt(lambda _: _publish(task_name, ids))
    except redis_breaker.Away:
        log.warning("the broker does not answer; the next scan finds the task", extra={"task": task_name, "ids": ids})


def _publish(task_name: str, ids: tuple[str, ...]) -> None:
    try:
        with pools.producers[_connection()].acquire(block=True, timeout=LIMIT_SECONDS) as producer:
            current_app.send_task(task_name, args=ids, producer=producer, retry=False, ignore_result=True)
    except KombuError as error:
        raise ConnectionError(str(error)) from error


@functools.cache
def _connection() -> Connection:
    """A connection that gives up soon. A worker's connection would wait until the broker comes back."""
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
