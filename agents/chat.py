"""A turn of conversation with an agent. The reply is always the engine's; without a model key it is empty."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agents.errors import HopFailed, WrongState
from agents.models import Agent, Desired, Status
from agents.runtimes import current_runtime, management
from agents.runtimes.base import Endpoint
from agents.runtimes.management import ChatEvent, ChatReply
from config import waiting
from config.errors import BadRequest

MAX_MESSAGE_BYTES = 65_536
_SESSION_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def say(agent: Agent, *, message: str, session_id: str | None = None) -> ChatReply:
    """Give the message to the engine and wait for its reply.

    Raises WrongState unless the agent runs, HopFailed naming the hop, and Unavailable when too many calls wait.
    """
    endpoint = _endpoint(agent, message, session_id)
    with waiting.place():
        try:
            return management.chat(endpoint, agent.management_token, message=message, session_id=session_id)
        except management.HopFailure as failure:
            raise HopFailed(failure.hop, failure.message) from failure


def stream(agent: Agent, *, message: str, session_id: str | None = None) -> Iterator[ChatEvent]:
    """The same turn as events: `delta`, then `done` or `error`. What can be refused is refused before the first one.

    Closing the iterator ends the turn.
    """
    endpoint = _endpoint(agent, message, session_id)
    events = _events(endpoint, agent.management_token, message=message, session_id=session_id)
    next(events)
    return events


def _events(endpoint: Endpoint, token: str, *, message: str, session_id: str | None) -> Iterator[ChatEvent]:
    """Yields a first event of no meaning, so that the place is taken, and given back, with the iterator."""
    with waiting.place():
        yield ChatEvent("start", {})
        try:
            yield from management.chat_events(endpoint, token, message=message, session_id=session_id)
        except management.HopFailure as failure:
            yield ChatEvent("error", {"hop": failure.hop, "message": failure.message})


def _endpoint(agent: Agent, message: str, session_id: str | None) -> Endpoint:
    """Where this agent's gateway is. Raises BadRequest, WrongState, HopFailed."""
    if len(message.encode()) > MAX_MESSAGE_BYTES:
        raise BadRequest(f"message: more than {MAX_MESSAGE_BYTES} bytes")
    if session_id is not None and not _SESSION_ID.fullmatch(session_id):
        raise BadRequest("sessionId: must be 1 to 64 letters, digits, '-' or '_'")
    if agent.status != Status.RUNNING or agent.desired != Desired.RUNNING:
        hint = "POST /agents/{id}/resume starts it" if agent.status == Status.STOPPED else "wait until it is running"
        raise WrongState("chat", agent.status, hint)
    endpoint = current_runtime().endpoint(agent.namespace)
    if endpoint is None:
        raise HopFailed("gateway", "the pod has no address at the moment")
    return endpoint
