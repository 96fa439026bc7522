"""The spans of tasks. A task that a traced request asked for belongs to its trace; periodic jobs are not traced."""

from __future__ import annotations

import threading
from typing import Any

from celery.signals import before_task_publish, task_postrun, task_prerun

from config import tracing
from config.tracing.recorder import current, enter, leave

HEADER = "traceparent"

_running = threading.local()  # a thread of a worker runs one task after the other


def follow() -> None:
    task_prerun.connect(_begin, dispatch_uid="config.tracing")
    task_postrun.connect(_end, dispatch_uid="config.tracing")
    before_task_publish.connect(_carry, dispatch_uid="config.tracing")


def _begin(task: Any = None, **_: object) -> None:
    recorder, said = tracing.active(), str(getattr(task.request, HEADER, None) or "")
    span = recorder.work(task.name, traceparent=said, attributes={"messaging.system": "celery"}) if recorder else None
    _running.now = (span, enter(span)) if span else None


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
