"""Celery beat's scheduler, with a sign of life.

The schedule file of beat is no sign of life: it may stay in memory until beat ends, e.g. with the dbm of Debian's
Python.
"""

from __future__ import annotations

from typing import Any

from celery.beat import PersistentScheduler

from config import pulse


class Scheduler(PersistentScheduler):
    def tick(self, *given: Any, **named: Any) -> Any:
        pulse.beat()
        return super().tick(*given, **named)
