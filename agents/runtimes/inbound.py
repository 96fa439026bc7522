"""The control plane's side of handing a message to a pod's engine."""

from __future__ import annotations

from agents.runtimes.base import Access, Endpoint
from agents.runtimes.management import body_of, call

HAND_OVER_SECONDS = 8.0


def hand_over(endpoint: Endpoint, access: Access, *, channel: str, name: str, body: str) -> bool:
    """Give the engine a message, or ask what became of it: True once its turn is over. The same name is the same
    message. Raises HopFailure while nobody takes it."""
    given = {"channel": channel, "name": name, "body": body}
    with call("PUT", endpoint, access, "/message", seconds=HAND_OVER_SECONDS, body=given) as answer:
        return body_of(answer, "is_over")["is_over"] is True
