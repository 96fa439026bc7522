"""The refusals of webhook calls."""

from __future__ import annotations

from config.errors import BadRequest, NotFound


class NoSuchDelivery(NotFound):
    message = "no such delivery of this agent: GET /agents/{id}/webhook/deliveries lists those of seven days"


class NoSuchEvent(BadRequest):
    """The caller names an event that the log does not have."""

    def __init__(self, field: str, event_id: str, *, of: str = "this agent") -> None:
        super().__init__(
            f"{field}: {event_id!r} is no event of {of}, or older than 30 days: leave {field} out to start anew"
        )
