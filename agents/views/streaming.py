"""Answers that are server-sent events."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from django.http import StreamingHttpResponse

from agents.pod.turns.events import TurnEvent
from config.streams import EVENT_STREAM

Events = Iterator[TurnEvent | None]


def streamed(events: Events, wire: Callable[[Events], Iterator[bytes]]) -> StreamingHttpResponse:
    """Answer with the events of a turn, as `wire` writes them. When the client hangs up, the answer is closed and the
    turn ends."""
    response = StreamingHttpResponse(_StreamedTurn(events, wire(events)), content_type=EVENT_STREAM)
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"
    return response


class _StreamedTurn:
    """Closes the events even if nothing was written yet. A generator that was never started would not do that."""

    def __init__(self, events: Events, pieces: Iterator[bytes]) -> None:
        self._events = events
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        return self._pieces

    def close(self) -> None:
        if close := getattr(self._events, "close", None):
            close()
