"""Each web process prepares its catalog outside of requests, so that no request queries the version or encodes the
list.

Without this thread, or while it is delayed, the first request after a second does the work itself
(catalog/snapshot.py).
"""

from __future__ import annotations

import logging
import threading
import time

from django.db import connection
from django.template.loader import get_template
from django.utils import translation

from catalog import search, snapshot
from catalog.views import publication
from config import heap
from pages.languages import LANGUAGES
from pages.public import persona_lists, sitemap

log = logging.getLogger(__name__)

TEMPLATES = ("landing", "persona", "category", "article", "search", "failed")
LOOK_SECONDS = 0.25  # a change must be visible within a second, and ten thousand personas take half of that


def start() -> threading.Thread:
    """Start a thread that checks for changes until the process ends."""
    thread = threading.Thread(target=_go_on, name="catalog", daemon=True)
    thread.start()
    return thread


def once() -> None:
    """Read what changed and prepare the large answer, the filters and the pages before anybody asks for them."""
    try:
        publication.renew()
        search.warm()
        _pages()
    finally:
        connection.close()  # back to the pool


def _pages() -> None:
    """Prepare what the first visitor would wait for. Cheap if it is prepared already."""
    persona_lists.current()
    sitemap.listed()
    for name in TEMPLATES:
        get_template(f"pages/{name}.html")
    for code in LANGUAGES:
        with translation.override(code):
            translation.gettext("Personas")


def _go_on() -> None:
    settled = False
    while True:
        pause = LOOK_SECONDS
        try:
            once()
            if not settled:
                heap.settle()  # with a large catalog, a full collection takes half a second
                settled = True
        except Exception:  # requests then read the catalog themselves, and report the error
            log.exception("the catalog could not be read ahead of requests")
            pause = snapshot.AWAY_SECONDS
        time.sleep(pause)
