"""Server-sent events as an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from django.http import StreamingHttpResponse

from agents.runtimes.management import ChatEvent
from config.streams import EVENT_STREAM

Events = Iterator[ChatEvent]


def streamed(events: Events, wire: Callable[[Events], Iterator[bytes]]) -> StreamingHttpResponse:
    """The events of a turn as `wire` writes them. Closing the answer (the client hung up) ends the turn."""
    response = StreamingHttpResponse(_Turn(events, wire(events)), content_type=EVENT_STREAM)
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"
    return response


class _Turn:
    """Closes the events also where nothing was written of them yet: a generator that never began would not."""

    def __init__(self, events: Events, pieces: Iterator[bytes]) -> None:
        self._events = events
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        return self._pieces

    def close(self) -> None:
        if close := getattr(self._events, "close", None):
            close()
