"""The periodic jobs (loops): each records its last success. A late loop degrades the platform's status."""

from __future__ import annotations

import logging
import time
from datetime import datetime, timedelta

from django.db import Error
from django.utils import timezone

from config.celery import BEAT
from status.models import Loop

log = logging.getLogger(__name__)

LATE_AFTER_PERIODS = 3
LATE_AFTER_AT_LEAST = timedelta(seconds=30)
WRITE_EVERY_SECONDS = 5.0

PERIODS = {name: timedelta(seconds=seconds) for name, (_, seconds, _) in BEAT.items()}
_NAMES = {task: name for name, (task, _, _) in BEAT.items()}
_written: dict[str, float] = {}


def note_success(sender: object = None, **_: object) -> None:
    """For Celery's `task_success`: if the task is a loop, record its success. Never fails the task."""
    name = _NAMES.get(getattr(sender, "name", ""))
    if name is None or time.monotonic() - _written.get(name, float("-inf")) < WRITE_EVERY_SECONDS:
        return
    _written[name] = time.monotonic()
    try:
        record(name, now=timezone.now())
    except Error as error:
        log.warning("cannot record the success of a loop", extra={"loop": name, "error": str(error)})


def record(name: str, *, now: datetime) -> None:
    """Set the loop's last success in one statement."""
    Loop.objects.bulk_create(
        [Loop(name=name, succeeded_at=now)],
        update_conflicts=True,
        unique_fields=["name"],
        update_fields=["succeeded_at"],
    )


def is_late(name: str, *, last: datetime, now: datetime) -> bool:
    """Whether the loop missed about three runs. `last` is its last success, or the time since which one is expected."""
    return now - last > max(LATE_AFTER_PERIODS * PERIODS[name], LATE_AFTER_AT_LEAST)
