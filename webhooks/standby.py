"""Deliveries while the broker is down: a worker of the queue `webhooks` also looks for due deliveries by itself.

Ticks of Celery beat come through Redis, which may be down; the due deliveries are in PostgreSQL. There is still only
one drain per process: if a tick's drain runs, this module only tells it to look again.
"""

from __future__ import annotations

import logging
import threading

from webhooks import delivery_loop

log = logging.getLogger(__name__)

SECONDS = 2.0
END_SECONDS = delivery_loop.GRACE_SECONDS + 0.5

_threads: list[threading.Thread] = []


def start() -> None:
    """Run a drain every two seconds, in a thread that ends with the process."""
    thread = threading.Thread(target=_run, name="deliveries", daemon=True)
    _threads.append(thread)
    thread.start()


def join() -> None:
    """Wait for the thread after `draining.stopping` was set: the thread still writes the outcomes that it has."""
    while _threads:
        _threads.pop().join(END_SECONDS)


def _run() -> None:
    while not delivery_loop.stopping.wait(SECONDS):
        try:
            delivery_loop.drain()
        except Exception:
            log.exception("the drain ended in an error; the next one begins in %s s", SECONDS)
