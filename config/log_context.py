"""What the lines of the log are about: the request or task, its account and agent, and its trace.

A trace begins with a request and goes on in the tasks that the request asks for. A client may begin it, with the header
`traceparent` (W3C Trace Context).
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from celery.signals import before_task_publish, task_postrun, task_prerun
from django.core.signals import request_finished

from config.ids import is_id

CARRIED = ("requestId", "traceId")  # from a request to its tasks
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")

_about: ContextVar[dict[str, str] | None] = ContextVar("about", default=None)


def ids() -> dict[str, str]:
    """The ids of what this thread or coroutine works on."""
    return _about.get() or {}


def begin(**known: str) -> None:
    """A request or a task begins. Django logs a refusal after its middleware, so `end` comes later than those."""
    _about.set(known)


def end(**_: object) -> None:
    _about.set(None)


@contextmanager
def about(**more: str) -> Iterator[None]:
    """Lines from inside this block have these ids too."""
    token = _about.set({**ids(), **more})
    try:
        yield
    finally:
        _about.reset(token)


def note(**more: str) -> None:
    """The rest of this request or task is about these ids too. Does nothing outside of one."""
    if (found := _about.get()) is not None:
        found.update(more)


def trace_of(traceparent: str) -> str:
    """The id of the trace in the header, else a new one."""
    found = _TRACEPARENT.fullmatch(traceparent)
    return found[1] if found else secrets.token_hex(16)


def follow() -> None:
    """Tasks carry the ids of the request that asks for them, and a worker's lines have them."""
    request_finished.connect(end, dispatch_uid="config.log_context")
    before_task_publish.connect(_carry, dispatch_uid="config.log_context")
    task_prerun.connect(_begin, dispatch_uid="config.log_context")
    task_postrun.connect(end, dispatch_uid="config.log_context")


def _carry(headers: dict[str, Any] | None = None, **_: object) -> None:
    if headers is not None:
        headers["about"] = {name: value for name, value in ids().items() if name in CARRIED}


def _begin(task: Any = None, args: tuple[Any, ...] = (), **_: object) -> None:
    carried = getattr(task.request, "about", None) or {}
    found = {"traceId": trace_of(""), **carried, "task": task.name}
    if args and is_id("agt", str(args[0])):
        found["agentId"] = args[0]
    begin(**found)
