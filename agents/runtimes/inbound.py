"""How the control plane passes a message to a pod's engine."""

from __future__ import annotations

from agents.runtimes.base import Access, Endpoint
from agents.runtimes.management import body_of, call

HAND_OVER_SECONDS = 8.0


def hand_over(endpoint: Endpoint, access: Access, *, channel: str, name: str, body: str) -> bool:
    """Pass a message to the engine, or ask for its result. Returns True when the turn of the message is over. A call
    with the same name means the same message. Raises HopFailure while nothing takes the message.
    """
    given = {"channel": channel, "name": name, "body": body}
    with call("PUT", endpoint, access, "/message", seconds=HAND_OVER_SECONDS, body=given) as answer:
        return body_of(answer, "is_over")["is_over"] is True
