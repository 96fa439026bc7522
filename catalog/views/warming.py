"""A web process keeps its catalog warm beside its requests: none of them asks the database or encodes the list.

Without this thread, or while it is held up, the first request after a second looks itself (catalog/snapshot.py).
"""

from __future__ import annotations

import logging
import threading
import time

from django.db import connection

from catalog import search, snapshot
from catalog.pages import warming as pages
from catalog.views import publication
from config import heap

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.25  # a change is to be seen within a second, and ten thousand personas take half of that


def start() -> threading.Thread:
    """Look for changes until the process ends."""
    thread = threading.Thread(target=_go_on, name="catalog", daemon=True)
    thread.start()
    return thread


def once() -> None:
    """Read what changed, and have the large answer and the filters ready before anybody asks for them."""
    try:
        publication.renew()
        search.warm()
        pages.once()
    finally:
        connection.close()  # back to the pool


def _go_on() -> None:
    settled = False
    while True:
        pause = LOOK_SECONDS
        try:
            once()
            if not settled:
                heap.settle()  # of a large catalog a full collection takes half a second
                settled = True
        except Exception:  # requests then look themselves, and say what is wrong
            log.exception("the catalog could not be read ahead of requests")
            pause = snapshot.AWAY_SECONDS
        time.sleep(pause)
