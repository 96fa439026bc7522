"""Begins to record traces in this process, if the setting wants it."""

from __future__ import annotations

from django.conf import settings

from config import tracing


def start(program: str) -> None:
    """Call it after a fork: it starts a thread."""
    if not settings.OTEL_EXPORTER_OTLP_ENDPOINT or tracing.active() is not None:
        return
    from config.tracing import queries, tasks  # noqa: PLC0415  # only where traces are wanted
    from config.tracing.recorder import SpanRecorder  # noqa: PLC0415

    tracing.use(SpanRecorder(program))
    tasks.follow()
    queries.follow()
