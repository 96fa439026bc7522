"""Places for calls that wait for somebody else: a receiver, a pod, a backup.

A web process has 64 threads. Were all of them waiting, nothing else would be answered; so at most 48 wait, the next is
told to come again, and none of them holds a database connection meanwhile (design: Processes and shapes).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

from config.errors import Unavailable

PLACES = 48
RETRY_AFTER_SECONDS = 10

_places = threading.BoundedSemaphore(PLACES)


@contextmanager
def place() -> Iterator[None]:
    """Wait inside of this. Raises Unavailable when every place of this process is taken."""
    if not _places.acquire(blocking=False):
        message = f"{PLACES} calls are waiting for an answer already: try again in {RETRY_AFTER_SECONDS} s"
        raise Unavailable(message, retry_after=RETRY_AFTER_SECONDS)
    try:
        release_connection()
        yield
    finally:
        _places.release()


def release_connection() -> None:
    """Give this thread's database connection back to the pool; the next query takes another."""
    if not connection.in_atomic_block:
        connection.close()
