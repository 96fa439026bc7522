"""Makes spans and sends them, by OpenTelemetry's own library. Only imported where traces are wanted.

Requests never wait for the collector: spans wait in a bounded queue, and are dropped when it is full. A collector that
is slow, down or sends gigabytes costs one thread.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextvars import Token
from typing import Any

import requests
from django.conf import settings
from opentelemetry import context as contexts
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    StatusCode,
    TraceFlags,
    get_current_span,
    set_span_in_context,
)

MOST_WAITING = 2048  # spans
SEND_EVERY_MILLISECONDS = 2_000
COLLECTOR_SECONDS = 5
ANSWER_BYTES = 64 * 1024
LONGEST_HEADER = 55
_TRACEPARENT = re.compile(r"00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})")

Attributes = Mapping[str, str | int]


class RunningSpan:
    """A span that is not over. It may end in another thread than it began."""

    def __init__(self, span: Span) -> None:
        self._span = span

    @property
    def trace_id(self) -> str:
        return f"{self._span.get_span_context().trace_id:032x}"

    @property
    def span_id(self) -> str:
        return f"{self._span.get_span_context().span_id:016x}"

    @property
    def traceparent(self) -> str:
        return f"00-{self.trace_id}-{self.span_id}-{self._span.get_span_context().trace_flags:02x}"

    @property
    def is_sampled(self) -> bool:
        return self._span.get_span_context().trace_flags.sampled

    @property
    def is_recorded(self) -> bool:
        return self._span.is_recording()

    def note(self, **attributes: str | int) -> None:
        self._span.set_attributes({name.replace("__", "."): value for name, value in attributes.items()})

    def rename(self, name: str) -> None:
        self._span.update_name(name)

    def fail(self, kind: str) -> None:
        """Mark it as failed. `kind` is the name of an exception's class: its text may hold anything."""
        self._span.set_attribute("error.type", kind)
        self._span.set_status(StatusCode.ERROR)

    def end(self, at: int | None = None) -> None:
        self._span.end(end_time=at)

    def inside(self) -> Context:
        return set_span_in_context(self._span)


class SpanRecorder:
    def __init__(self, program: str) -> None:
        resource = Resource(
            {"service.name": "agentpods", "service.version": settings.VERSION, "agentpods.program": program}
        )
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._processor = BatchSpanProcessor(
            OTLPSpanExporter(session=CollectorSession(), timeout=COLLECTOR_SECONDS),
            max_queue_size=MOST_WAITING,
            schedule_delay_millis=SEND_EVERY_MILLISECONDS,
        )
        self._provider.add_span_processor(self._processor)
        self._tracer = self._provider.get_tracer("agentpods")

    def serve(self, name: str, *, traceparent: str, attributes: Attributes) -> RunningSpan:
        """A request of a client begins. Its header is followed as TRACES_FROM_CLIENTS says."""
        said = context_of(traceparent)
        parent, links = Context(), []
        if said and settings.TRACES_FROM_CLIENTS == "parent":
            parent = set_span_in_context(NonRecordingSpan(said))
        elif said and settings.TRACES_FROM_CLIENTS == "link":
            links = [Link(said)]
        span = self._tracer.start_span(name, parent, kind=SpanKind.SERVER, attributes=attributes, links=links)
        return RunningSpan(span)

    def work(self, name: str, *, traceparent: str, attributes: Attributes) -> RunningSpan | None:
        """A task begins that a traced request asked for. None: it was not traced."""
        said = context_of(traceparent)
        if said is None:
            return None
        parent = set_span_in_context(NonRecordingSpan(said))
        return RunningSpan(self._tracer.start_span(name, parent, kind=SpanKind.CONSUMER, attributes=attributes))

    def root(self, name: str, attributes: Attributes) -> RunningSpan:
        """The first span of a trace that no request began."""
        return RunningSpan(self._tracer.start_span(name, Context(), attributes=attributes))

    def begin_inside(self, name: str, attributes: Attributes) -> RunningSpan | None:
        if not get_current_span().is_recording():
            return None
        return RunningSpan(self._tracer.start_span(name, kind=SpanKind.CLIENT, attributes=attributes))

    def past(self, name: str, *, within: RunningSpan, begin: int, end: int, failed: bool) -> None:
        """A span that is over already, with times in nanoseconds."""
        span = RunningSpan(self._tracer.start_span(name, within.inside(), start_time=begin))
        if failed:
            span.fail("failed")
        span.end(end)

    def flush(self) -> None:
        """Send what waits. For tests and the end of a process."""
        self._processor.force_flush(COLLECTOR_SECONDS * 1000)


def enter(span: RunningSpan) -> Token[Context]:
    """What this thread does from now on is inside the span."""
    return contexts.attach(span.inside())


def leave(token: Token[Context]) -> None:
    contexts.detach(token)


def current() -> RunningSpan | None:
    span = get_current_span()
    return RunningSpan(span) if span.get_span_context().is_valid else None


def context_of(traceparent: str) -> SpanContext | None:
    """The context in the header (W3C Trace Context), or None for anything else, however long."""
    found = _TRACEPARENT.fullmatch(traceparent) if len(traceparent) == LONGEST_HEADER else None
    if not found:
        return None
    flags = TraceFlags(int(found[3], 16) & TraceFlags.SAMPLED)
    return SpanContext(int(found[1], 16), int(found[2], 16), is_remote=True, trace_flags=flags)


class CollectorSession(requests.Session):
    """Reads no more than ANSWER_BYTES of what the collector answers, follows no redirect, and takes no proxy, password
    or certificate from the environment."""

    def __init__(self) -> None:
        super().__init__()
        self.trust_env = False

    def request(self, *given: Any, **more: Any) -> requests.Response:
        with super().request(*given, **{**more, "stream": True, "allow_redirects": False}) as answer:
            answer._content = answer.raw.read(ANSWER_BYTES, decode_content=False)  # noqa: SLF001
            answer._content_consumed = True  # type: ignore[attr-defined]  # noqa: SLF001
            return answer
