"""How many tasks of each name the workers ran, how they ended and how long they took."""

from __future__ import annotations

import threading
import time

from celery.signals import task_postrun, task_prerun
from prometheus_client import Counter, Histogram

BUCKETS = (0.05, 0.25, 1.0, 5.0, 15.0, 60.0, 300.0)

TASKS = Counter("agentpods_tasks", "Tasks that ended.", ["task", "outcome"])
DURATION = Histogram("agentpods_task_duration_seconds", "How long tasks ran.", ["task"], buckets=BUCKETS)

_began = threading.local()  # a thread of a worker runs one task after the other


def count() -> None:
    """Count all tasks of this process from now on."""
    task_prerun.connect(_begin, dispatch_uid="config.metrics.tasks")
    task_postrun.connect(_end, dispatch_uid="config.metrics.tasks")


def _begin(**_: object) -> None:
    _began.at = time.perf_counter()


def _end(sender: object = None, state: str | None = None, **_: object) -> None:
    name = str(getattr(sender, "name", ""))
    TASKS.labels(name, "succeeded" if state == "SUCCESS" else "failed").inc()
    DURATION.labels(name).observe(time.perf_counter() - _began.at)
