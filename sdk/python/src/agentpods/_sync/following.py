# Made from `_async/following.py`: change that file, then `make sdk`.
"""Follows a stream of the service over broken connections."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import closing

from agentpods._wire.following import Follow
from agentpods._wire.sse import ServerEvent
from agentpods.errors import ApiError, NoAnswerError


def followed(
    connect: Callable[[str | None], Generator[ServerEvent, None]], after: str | None
) -> Generator[ServerEvent, None]:
    """The events of the stream, until `end`. `connect` opens it after the event with this id, or at its beginning.

    Raises ApiError and NoAnswerError where another connection is of no use.
    """
    follow = Follow(after)
    while True:
        events = connect(follow.place)
        try:
            with closing(events):
                for event in events:
                    if follow.is_news(event):
                        yield event
                    if event.name == "end":
                        return
            pause = follow.pause_after(None)
        except (ApiError, NoAnswerError) as failure:
            pause = follow.pause_after(failure)
        time.sleep(pause)
