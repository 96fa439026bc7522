"""Deliveries without a broker: a worker of the queue `webhooks` looks by itself for what is due.

Ticks come through Redis, which may be away; what is due is in PostgreSQL. There is still one drain per process: where a
tick's is running, this one only tells it to look again.
"""

from __future__ import annotations

import logging
import threading

from webhooks import draining

log = logging.getLogger(__name__)

SECONDS = 2.0
END_SECONDS = draining.GRACE_SECONDS + 0.5

_threads: list[threading.Thread] = []


def start() -> None:
    """Drain every two seconds, in a thread that ends with the process."""
    thread = threading.Thread(target=_run, name="deliveries", daemon=True)
    _threads.append(thread)
    thread.start()


def join() -> None:
    """Wait for what `draining.stopping` has told to end: it writes the outcomes that it still has."""
    while _threads:
        _threads.pop().join(END_SECONDS)


def _run() -> None:
    while not draining.stopping.wait(SECONDS):
        try:
            draining.drain()
        except Exception:
            log.exception("the drain ended in an error; the next one begins in %s s", SECONDS)
