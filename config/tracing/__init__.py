"""Traces (OpenTelemetry), off unless OTEL_EXPORTER_OTLP_ENDPOINT says where they go.

While they are off, the library is not even imported, and everything here does nothing. Spans have names and numbers
from our own code: no address, no body, no header, no parameter of SQL (docs/decisions/operations.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from config.tracing.recorder import RunningSpan, SpanRecorder

PERIODIC = "periodic"  # the header of a task that Celery beat sends

_recorder: SpanRecorder | None = None


def use(recorder: SpanRecorder) -> None:
    """From now on this process records traces (config/tracing/starting.py)."""
    global _recorder  # noqa: PLW0603  # one for each process
    _recorder = recorder


def active() -> SpanRecorder | None:
    return _recorder


def begin(name: str, **attributes: str | int) -> RunningSpan | None:
    """A call to another program begins, inside what this thread traces. None: nothing is traced. The caller ends it."""
    return _recorder.begin_inside(name, attributes) if _recorder else None


@contextmanager
def call(name: str, **attributes: str | int) -> Iterator[RunningSpan | None]:
    """The same for the whole block. It may be the block of a generator."""
    span = begin(name, **attributes)
    try:
        yield span
    except BaseException as error:
        if span:
            span.fail(type(error).__name__)
        raise
    finally:
        if span:
            span.end()


@contextmanager
def served(name: str, *, traceparent: str, **attributes: str | int) -> Iterator[RunningSpan | None]:
    """A visitor's request, for the whole block. Its header is followed as TRACES_FROM_CLIENTS says."""
    span = _recorder.serve(name, traceparent=traceparent, attributes=attributes) if _recorder else None
    with _inside(span):
        yield span


@contextmanager
def trace(name: str, **attributes: str | int) -> Iterator[RunningSpan | None]:
    """A trace of its own for the whole block: work that no request asked for, or for many requests at once."""
    span = _recorder.root(name, attributes) if _recorder else None
    with _inside(span):
        yield span


@contextmanager
def _inside(span: RunningSpan | None) -> Iterator[None]:
    if span is None:
        yield
        return
    from config.tracing.recorder import enter, leave  # noqa: PLC0415  # only where traces are wanted

    token = enter(span)
    try:
        yield
    except BaseException as error:
        span.fail(type(error).__name__)
        raise
    finally:
        leave(token)
        span.end()


def headers(span: RunningSpan | None) -> Mapping[str, str]:
    """What tells the called program of the trace."""
    return {"traceparent": span.traceparent} if span else {}
