"""The spans of a traced turn. Those inside the pod come from its gateway, which is asked for them after the turn.

A pod is a customer's: what its gateway says is bounded, and its times are cut to those of the call.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING

from agents.pod.turns.failures import HopFailure
from agents.runtimes import management
from agents.runtimes.base import Access, Endpoint
from config import tracing

if TYPE_CHECKING:
    from config.tracing.recorder import RunningSpan

log = logging.getLogger(__name__)

NAMES = frozenset({"turn", "engine", "model call"})
MOST = 64
AT_ONCE = 4
_places = threading.BoundedSemaphore(32)  # turns whose gateway is asked or waits to be asked
_pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="spans")


@contextmanager
def traced(endpoint: Endpoint, access: Access) -> Iterator[Mapping[str, str]]:
    """The call of a turn. Gives the headers that tell the gateway of the trace; none if it is not traced."""
    began, span = time.time_ns(), None
    try:
        with tracing.call("call of the gateway") as span:
            yield tracing.headers(span)
    finally:
        if span and span.is_sampled and _places.acquire(blocking=False):
            _pool.submit(_ask, span, endpoint, access, began, time.time_ns())


def _ask(span: RunningSpan, endpoint: Endpoint, access: Access, began: int, ended: int) -> None:
    try:
        _note(span, management.timings(endpoint, access, span=span.span_id), began, ended)
    except HopFailure:
        log.debug("a gateway tells no times of a turn")  # it may be of an older release, or gone
    except (KeyError, TypeError, ValueError, OverflowError):
        log.warning("a gateway told odd times of a turn")
    finally:
        _places.release()


def _note(span: RunningSpan, parts: list[dict[str, object]], began: int, ended: int) -> None:
    recorder = tracing.active()
    if recorder is None:
        return
    for part in parts[:MOST]:
        if part["name"] not in NAMES:
            continue
        begin = _within(part["begin"], began, ended)
        end = max(begin, _within(part["end"], began, ended))
        recorder.past(str(part["name"]), within=span, begin=begin, end=end, failed=part["failed"] is True)


def _within(seconds: object, began: int, ended: int) -> int:
    """The moment so many seconds after the call began. A part that has no end yet lasts as long as the call."""
    if seconds is None:
        return ended
    if not isinstance(seconds, int | float):
        raise TypeError
    return min(max(began + int(seconds * 1_000_000_000), began), ended)
