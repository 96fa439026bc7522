"""Celery beat's scheduler, with a sign of life.

What beat writes down is no such sign: it may lie in memory until beat ends, as with the dbm of Debian's Python.
"""

from __future__ import annotations

from typing import Any

from celery.beat import PersistentScheduler

from config import pulse


class Scheduler(PersistentScheduler):
    def tick(self, *given: Any, **named: Any) -> Any:
        pulse.beat()
        return super().tick(*given, **named)
