"""One turn of a conversation with an agent. The reply always comes from the engine; without a model key it is empty."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import Counter

from agents.errors import HopFailed, WrongState
from agents.models import Agent, Desired, Status
from agents.pod import session_ids
from agents.pod.turns.events import TurnEvent
from agents.pod.turns.failures import Hop, HopFailure
from agents.running import pods
from agents.runtimes import current_runtime, management
from agents.runtimes.base import Endpoint
from agents.runtimes.management import ChatReply
from agents.talking import turn_spans
from config import waiting
from config.errors import BadRequest, Unavailable

MAX_MESSAGE_BYTES = 65_536
# How long a turn waits for a key that was installed just before it.
KEY_SECONDS = 10.0
KEY_STEP_SECONDS = 0.2

TURNS = Counter("agentpods_turns", "Turns with agents: how each ended, and the hop that failed.", ["hop", "outcome"])


def say(agent: Agent, *, message: str, session_id: str | None = None) -> ChatReply:
    """Give the message to the engine and wait for its reply.

    Raises WrongState unless the agent runs, HopFailed naming the hop, and Unavailable when too many calls wait.
    """
    endpoint = _endpoint(agent, message, session_id)
    access = pods.access_of(agent)
    with _counted(), waiting.turns.take(agent.user_id), _failures():
        await_key(agent, endpoint)
        with turn_spans.traced(endpoint, access) as trace:
            return management.chat(endpoint, access, message=message, session_id=session_id, trace=trace)


def stream(agent: Agent, *, message: str, session_id: str | None = None) -> Iterator[TurnEvent | None]:
    """The same turn as events, with one Done at the end. Raises what fails before the turn begins; later the iterator
    raises HopFailure.

    Closing the iterator ends the turn.
    """
    endpoint = _endpoint(agent, message, session_id)
    events = _events(agent, endpoint, message, session_id)
    next(events)
    return events


def _events(agent: Agent, endpoint: Endpoint, message: str, session_id: str | None) -> Iterator[TurnEvent | None]:
    """Yield None first. `stream` takes this event at once, so the caller's place is taken then. The place is given
    back when the iterator ends."""
    access = pods.access_of(agent)
    with _counted(), waiting.turns.take(agent.user_id), turn_spans.traced(endpoint, access) as trace:
        turn = management.chat_events(endpoint, access, message=message, session_id=session_id, trace=trace)
        with _failures():
            await_key(agent, endpoint)
            yield next(turn)
        yield from turn


@contextmanager
def _counted() -> Iterator[None]:
    """Count the turn inside this block. A client that ends a stream early has `left` it."""
    hop, outcome = "none", "failed"
    try:
        yield
        outcome = "answered"
    except (HopFailed, HopFailure) as failure:
        hop = failure.hop
        raise
    except Unavailable:
        outcome = "refused"
        raise
    except GeneratorExit:
        outcome = "left"
        raise
    finally:
        TURNS.labels(hop, outcome).inc()


@contextmanager
def _failures() -> Iterator[None]:
    try:
        yield
    except HopFailure as failure:
        raise HopFailed(failure.hop, failure.message) from failure


def await_key(agent: Agent, endpoint: Endpoint) -> None:
    """Wait until the gateway has the key that was installed just before. Raises HopFailure when it does not arrive in
    time.

    This is checked before the turn: an empty reply does not tell whether the engine was asked, and a turn is never
    repeated.
    """
    if agent.llm_key_hash is None:
        return
    until = time.monotonic() + KEY_SECONDS
    while not management.health(endpoint, pods.access_of(agent)).has_key:
        if time.monotonic() > until:
            raise HopFailure(Hop.GATEWAY, "the model key has not reached the pod yet")
        time.sleep(KEY_STEP_SECONDS)


def _endpoint(agent: Agent, message: str, session_id: str | None) -> Endpoint:
    """The address of the agent's gateway. Raises BadRequest for a bad message or session id, WrongState, and HopFailed
    when there is no address."""
    if not message.strip():
        raise BadRequest("message: must be text that is not blank")
    if len(message.encode()) > MAX_MESSAGE_BYTES:
        raise BadRequest(f"message: more than {MAX_MESSAGE_BYTES} bytes")
    if session_id is not None and not session_ids.is_permitted(session_id):
        raise BadRequest(f"sessionId: must be {session_ids.PERMITTED}")
    if agent.desired == Desired.STOPPED:
        paused = "stopped" if agent.status == Status.STOPPED else "being stopped"
        raise WrongState("chat", paused, f"POST /agents/{agent.id}/resume starts it")
    if agent.status != Status.RUNNING:
        hint = f"POST /agents/{agent.id}/rebuild builds it again"
        raise WrongState("chat", agent.status, hint if agent.status == Status.FAILED else "wait until it is running")
    endpoint = current_runtime().endpoint(agent.namespace)
    if endpoint is None:
        TURNS.labels(Hop.GATEWAY, "failed").inc()
        raise HopFailed(Hop.GATEWAY, "the pod has no address at the moment")
    return endpoint
