"""The spans of tasks. A task that a traced request asked for belongs to its trace. Each run of a periodic job has a
trace of its own.
"""

from __future__ import annotations

import threading
from typing import Any

from celery.signals import before_task_publish, task_postrun, task_prerun

from config import tracing
from config.tracing.recorder import RunningSpan, current, enter, leave

HEADER = "traceparent"
OF_CELERY = {"messaging.system": "celery"}

_running = threading.local()  # a thread of a worker runs one task after the other


def follow() -> None:
    task_prerun.connect(_begin, dispatch_uid="config.tracing")
    task_postrun.connect(_end, dispatch_uid="config.tracing")
    before_task_publish.connect(_carry, dispatch_uid="config.tracing")


def _begin(task: Any = None, **_: object) -> None:
    span = _span(task)
    _running.now = (span, enter(span)) if span else None


def _span(task: Any) -> RunningSpan | None:
    recorder, said = tracing.active(), str(getattr(task.request, HEADER, None) or "")
    if recorder is None:
        return None
    if getattr(task.request, tracing.PERIODIC, None):
        return recorder.root(task.name, OF_CELERY)
    return recorder.work(task.name, traceparent=said, attributes=OF_CELERY)


def _carry(headers: dict[str, Any] | None = None, **_: object) -> None:
    span = current()
    if headers is not None and span and span.is_recorded:
        headers[HEADER] = span.traceparent


def _end(state: str | None = None, **_: object) -> None:
    if (now := getattr(_running, "now", None)) is None:
        return
    _running.now = None
    span, token = now
    leave(token)
    if state != "SUCCESS":
        span.fail("failed")
    span.end()
